import t from 'tap'
import { RecordingHost } from '../../../workers/host/recording-host.ts'
import { conforms } from './conformance.ts'

t.test('a host that only records conforms', async (t) => conforms(t, new RecordingHost()))

t.test('everything is recorded once', async (t) => {
  const host = new RecordingHost()
  await host.replaceFile('/a', 'x', 0o600)
  await host.run(['reboot'])
  await host.socket('/s', 'show')
  t.strictSame(host.takeJournal(), [
    { verb: 'replaceFile', path: '/a', content: 'x', mode: 0o600 },
    { verb: 'run', argv: ['reboot'] },
    { verb: 'socket', path: '/s', request: 'show' },
  ])
  t.strictSame(host.takeJournal(), [])
})

t.test('answers come from the options', async (t) => {
  const host = new RecordingHost({
    base: { readFile: async (path) => (path === '/real' ? 'real' : undefined), unitState: async () => 'running' },
    answerRun: ([program]) => ({ exitCode: 3, output: String(program) }),
    answerSocket: (path, request) => `${path} ${request}`,
  })
  t.equal(await host.readFile('/real'), 'real')
  await host.removeFile('/real')
  t.equal(await host.readFile('/real'), undefined, 'a recorded file hides the real one')
  t.equal(await host.unitState('layer7proxy'), 'running')
  t.strictSame(await host.run(['x']), { exitCode: 3, output: 'x' })
  t.equal(await host.socket('/s', 'y'), '/s y')
})

t.test('a setting that this machine lacks is recorded all the same', async (t) => {
  const host = new RecordingHost({
    base: {
      readFile: async () => undefined,
      unitState: async () => 'missing',
      readSetting: async () => undefined,
    },
  })
  const size = { kind: 'sysctl', key: 'net.netfilter.nf_conntrack_max' } as const
  t.equal(await host.readSetting(size), '')
  await host.writeSetting(size, '4096')
  t.equal(await host.readSetting(size), '4096')
  t.equal(await host.readSetting({ kind: 'ipvsTimeouts' }), '')
})
