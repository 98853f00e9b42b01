import t from 'tap'
import { connectedMetric, kernelMetric } from '../../../../src/drivers/iproute2/kernel-metric.ts'

t.test('no metric is 0 for IPv4 and 1024 for IPv6, where 0 means none as well', async (test) => {
  const of = (destination: string, metric: number | undefined) => kernelMetric({ destination, metric })
  test.same([of('10.0.0.0/8', undefined), of('10.0.0.0/8', 0), of('10.0.0.0/8', 7)], [0, 0, 7])
  test.same([of('::/0', undefined), of('::/0', 0), of('::/0', 7)], [1024, 1024, 7])
})

t.test('connected networks have the best metric that the kernel assigns', async (test) => {
  test.same([connectedMetric('10.0.0.0/24'), connectedMetric('2001:db8::/64')], [0, 256])
})
