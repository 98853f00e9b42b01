import t from 'tap'
import { RecordingHost } from '../../workers/host/recording-host.ts'
import { takenPorts } from '../../workers/taken-ports.ts'

const claims = [80, 81].map((port) => ({ ip: '192.0.2.1', port, claimant: 'frontend f' }))

t.test('free ports are no problem', async (t) => {
  t.strictSame(await takenPorts(new RecordingHost(), claims), [])
})

t.test('a port that becomes free in a moment counts as free', async (t) => {
  const host = new RecordingHost()
  const tried: number[] = []
  host.portProblem = async (_ip, port) => {
    tried.push(port)
    return port === 80 && tried.length < 4 ? 'Address already in use' : undefined
  }
  t.strictSame(await takenPorts(host, claims), [])
  t.strictSame(tried, [80, 81, 80, 80], 'only failed ones are retried')
})

t.test('a port that stays in use is reported with its reason', async (t) => {
  const host = new RecordingHost()
  host.portProblem = async (_ip, port) => (port === 81 ? 'Permission denied' : undefined)
  t.strictSame(await takenPorts(host, claims), [
    '[ALERT] : frontend f: cannot bind socket (Permission denied) for [192.0.2.1:81]',
  ])
})

t.test('a port in use names its units, and may be inherited from HAProxy alone', async (t) => {
  const host = new RecordingHost()
  host.portProblem = async () => 'Address already in use'
  const has = (...units: readonly string[]) => {
    host.listeners = async () => units.map((unit) => ({ ip: '192.0.2.1', port: 80, unit }))
  }
  const told = async (isInherited?: true) => {
    const claim = { ip: '192.0.2.1', port: 80, claimant: 'frontend f', ...(isInherited && { isInherited }) }
    return (await takenPorts(host, [claim])).map((line) => /\((.*)\)/.exec(line)?.[1])
  }
  has('haproxy.service')
  t.same(await told(true), [])
  t.same(await told(), ['Address already in use by haproxy.service'])
  has('haproxy.service', 'nginx.service')
  t.same(await told(true), ['Address already in use by haproxy.service, nginx.service'])
  has('')
  t.same(await told(true), ['Address already in use'], 'its user is unknown')
  has()
  t.same(await told(true), ['Address already in use'], 'its user cannot be found out')
})
