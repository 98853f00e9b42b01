import t from 'tap'
import { RecordingHost } from '../../../workers/host/recording-host.ts'
import { TrialHost } from '../../../workers/host/trial-host.ts'

t.test('only the state folder and HAProxy are real', async (t) => {
  const real = new RecordingHost()
  const recorder = new RecordingHost()
  const host = new TrialHost(real, recorder, '/state', ['haproxy'])
  for (const path of ['/state/a', '/etc/a', '/state/../etc/b', '/state-of-another/c']) {
    await host.replaceFile(path, 'x', 0o600)
    t.equal(await host.readFile(path), 'x', 'each side reads what it wrote')
    await host.renameFile(path, `${path}2`)
    await host.socket(path, 'show', 1000)
    await host.removeFile(`${path}2`)
  }
  await host.run(['haproxy', '-c'], 1000)
  await host.run(['reboot'], 1000)
  await host.run(['/state/haproxy/checks/sandbox', 'probe'], 1000)
  await host.unit('layer7proxy', 'start', 1000)
  t.equal(await host.unitState('layer7proxy'), 'running')
  const touched = (journal: RecordingHost['journal']) =>
    journal.map((entry) => (entry.verb === 'run' ? entry.argv[0] : 'path' in entry ? entry.path : entry.verb))
  t.strictSame(
    [...new Set(touched(real.journal))],
    ['/state/a', 'renameFile', '/state/a2', 'haproxy', '/state/haproxy/checks/sandbox', 'unit'],
  )
  t.ok(touched(recorder.journal).includes('reboot'))
  t.notOk(touched(recorder.journal).some((path) => path?.startsWith('/state/a')))
})
