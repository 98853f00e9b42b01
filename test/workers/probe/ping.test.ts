import t from 'tap'
import { ping, sendEchoes } from '../../../workers/probe/ping.ts'

const ANSWERED = `PING 10.0.0.1 (10.0.0.1) from 10.0.0.5 : 56(84) bytes of data.

--- 10.0.0.1 ping statistics ---
3 packets transmitted, 3 received, 0% packet loss, time 402ms
rtt min/avg/max/mdev = 0.034/0.045/0.056/0.009 ms`

const says = (output: string, exitCode = 1) => {
  const asked: (readonly string[])[] = []
  const run = async (argv: readonly string[]) => {
    asked.push(argv)
    return { exitCode, output }
  }
  return { run, asked }
}

t.test('three requests from the address, and their result', async (test) => {
  const { run, asked } = says(ANSWERED, 0)
  test.same(await ping('10.0.0.5', '10.0.0.1', run), {
    ok: true,
    sent: 3,
    received: 3,
    roundTrip_ms: 0.045,
    reason: undefined,
  })
  test.same(asked, [['ping', '-n', '-q', '-c', '3', '-i', '0.2', '-W', '1', '-I', '10.0.0.5', '10.0.0.1']])
})

for (const [output, reason] of [
  [
    'PING …\n\n--- 10.0.0.9 ping statistics ---\n3 packets transmitted, 0 received, 100% packet loss, time 402ms',
    /100% packet loss/,
  ],
  ['ping: bind: Cannot assign requested address', /^ping: bind: Cannot assign/],
  ['ping: connect: Network is unreachable', /Network is unreachable/],
  ['ping is not installed: run "apt-get install iputils-ping" as root', /apt-get install iputils-ping/],
  ['', /gave no output/],
] as const) {
  t.test(`no answer: ${String(reason)}`, async (test) => {
    const result = await sendEchoes({ from: 'a', to: 'b', count: 1 }, says(output).run)
    test.match(result, { ok: false, received: 0, roundTrip_ms: null, reason })
  })
}
