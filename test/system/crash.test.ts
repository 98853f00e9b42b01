import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { fetchOnce, freePort, startOrigin } from '../fixtures/traffic.ts'

const ROUNDS = 8

t.test(
  'kill -9 at any moment of staging and applying leaves old or new, in the store, the file and HAProxy',
  { timeout: 1_800_000 },
  async (test) => {
    const daemon = await daemonFixture(test)
    const origin = await startOrigin(test, 'one')
    const rip = (await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: origin.port }))
      .id
    const port = await freePort()
    const backend = (
      await daemon.data('POST', '/layer7proxy/backends', {
        name: 'be',
        mode: 'http',
        reals: [{ ripId: rip }],
        healthCheck: { type: 'none' },
      })
    ).id
    const made = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: String(port), defaultBackendId: backend }
    const frontend = (await daemon.data('POST', '/layer7proxy/frontends', made)).id
    const asked_ms = performance.now()
    await daemon.data('PUT', '/services/apply')
    /** Duration of an apply with a reload on this machine now; later ones are faster than the first. */
    const apply_ms = performance.now() - asked_ms

    let failed = 0
    let stopped = false
    const traffic = (async () => {
      while (!stopped) {
        await fetchOnce(port).catch(() => (failed += 1))
        await wait(5)
      }
    })()
    let applied = 100
    const outcomes = new Set<string>()
    for (let round = 0; round < ROUNDS; round += 1) {
      const weight = 101 + round
      const timeoutClient = 31 + round
      // An empty apply waits for what the start does automatically, so that the delay belongs to this apply alone.
      await daemon.data('PUT', '/services/apply')
      // Every other round is a reload; the delays cover the whole apply.
      const reload = round % 2 === 0
      await daemon.data('PUT', `/ipvsDirector/rips/${rip}`, { port: origin.port, weight })
      if (reload) await daemon.data('PUT', `/layer7proxy/frontends/${frontend}`, { timeoutClient })
      const before = (await daemon.data('GET', '/services/pending')).revision
      const apply = daemon.call('PUT', '/services/apply').then(
        (answer) => answer.status,
        () => 0,
      )
      // The first kill comes as the apply begins, the last after its answer.
      if (round < ROUNDS - 1) await wait(apply_ms * (round / ROUNDS) ** 2)
      else await apply
      await daemon.kill('SIGKILL')
      const answered = await apply
      await daemon.start()
      await daemon.login()

      const { revision, count } = await until(
        'the start to settle',
        () => daemon.data('GET', '/services/pending'),
        () => true,
      )
      const isNew = revision === before + 1
      test.comment(`round ${round}: ${isNew ? 'new' : 'old'}, answered ${answered}`)
      test.ok(isNew || revision === before, `round ${round}: revision ${before} → ${revision}`)
      if (answered === 200) test.ok(isNew, `round ${round}: an answered apply is kept`)
      test.equal(count > 0, !isNew, `round ${round}: pending exactly when it was not applied`)
      if (isNew) applied = weight
      outcomes.add(isNew ? 'new' : 'old')
      const expected = `weight ${applied}`
      await until(
        'file and HAProxy to agree with running',
        async () => {
          const file = readFileSync(`${daemon.state}/haproxy/haproxy.cfg`, 'utf8')
          const [figures] = await daemon.data('GET', `/${daemon.node}/layer7proxy/stats/rips/${rip}`)
          return { file: file.includes(expected), weight: figures?.weight }
        },
        (found) => found.file && found.weight === applied,
      )
      if (!isNew) await daemon.data('DELETE', '/services/pending')
    }
    stopped = true
    await traffic
    test.equal(failed, 0, 'traffic was never interrupted')
    test.equal(outcomes.size, 2, 'some kills came before the apply was stored, some after')
  },
)
