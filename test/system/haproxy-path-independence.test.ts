import fc from 'fast-check'
import t from 'tap'
import type { ConfigView } from '../../src/model/sections.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { freePort } from '../fixtures/traffic.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'

const RIP_IDS = ['r0', 'r1', 'r2', 'r3'] as const
const FALLBACK = { ip: '127.0.0.3', port: 19_003 }

const { pair, record } = certificateMaker(t)
/** Two contents of each of two certificates. */
const CERTIFICATES = ['a', 'b'].map((id) => [0, 1].map(() => record(id, pair({ name: `${id}.test` }))))
const PORT = await freePort()

/** A configuration of three backends that share real servers, small enough that changes often collide. */
const configuration: fc.Arbitrary<ConfigView> = fc
  .record({
    reals: fc.tuple(
      ...RIP_IDS.map((id) =>
        fc.record({
          id: fc.constant(id),
          name: fc.constantFrom('old name', 'new name'),
          ip: fc.constantFrom('127.0.0.1', '127.0.0.2', '::1'),
          port: fc.constantFrom(19_001, 19_002),
          weight: fc.constantFrom(0, 1, 256),
          state: fc.constantFrom('online', 'drained', 'halted'),
        }),
      ),
    ),
    members: fc.tuple(fc.subarray([...RIP_IDS]), fc.shuffledSubarray([...RIP_IDS])),
    weight: fc.option(fc.constant(9), { nil: undefined }),
    // Rarely different; otherwise every change would be a reload.
    fallback: fc.constantFrom(FALLBACK, FALLBACK, FALLBACK, null),
    timeoutServer: fc.constantFrom(30, 30, 30, 30, 31),
    versions: fc.tuple(fc.nat(1), fc.nat(1)),
    shown: fc.oneof({ weight: 20, arbitrary: fc.constant(['a', 'b']) }, fc.constantFrom(['b', 'a'], ['b'], [])),
  })
  .map(({ reals, members, weight, fallback, timeoutServer, versions, shown }) => {
    const memberships = (ids: readonly string[]) =>
      ids.map((ripId) => ({ ripId, ...(ripId === 'r1' && weight !== undefined ? { weight } : {}) }))
    const withBackup = (ids: readonly string[]) =>
      memberships(ids).map((member) => ({ ...member, ...(member.ripId === 'r3' ? { backup: true } : {}) }))
    return viewOf({
      certificates: CERTIFICATES.map((both, index) => both[versions[index] ?? 0]).filter((one) => one !== undefined),
      l7Frontends: [frontend('f', null, { ports: String(PORT), certificates: [...shown] })],
      realServers: reals.map((real) => realServer(real.id, real)),
      l7Backends: [
        backend('b', [], { reals: memberships(members[0]), timeoutServer, healthCheck: { type: 'tcp', interval: 60 } }),
        backend('c', [], { reals: memberships(members[1]), balance: 'source' }),
        backend('d', [], { reals: withBackup(members[0]), fallback }),
      ],
    })
  })

t.test('however a configuration was reached, HAProxy is as if it had been applied at once', async (t) => {
  const { apply, applyLikeTheEngine, ask, host, driver, paths } = haproxyFixture(t)
  let running = viewOf({})
  t.match(await apply(undefined, running), { ok: true })
  const kinds = { runtime: 0, reload: 0 }

  /** The order of backup servers in the worker decides which one serves first. */
  const backupOrder = async (): Promise<readonly string[]> => {
    const members = running.get('l7Backends', 'd')?.reals ?? []
    const isBackup = (name: string | undefined) =>
      name === 'fallback' || members.some(({ ripId, backup }) => ripId === name && backup === true)
    const rows = (await ask('@1 show servers state d')).split('\n').slice(2)
    return rows.map((row) => row.split(' ')[3] ?? '').filter(isBackup)
  }

  /** State that does not depend on time, including the numbers of hashed servers. */
  const state = async (): Promise<readonly string[]> =>
    (await ask('@1 show servers state'))
      .split('\n')
      .slice(2)
      .map((row) => row.split(' '))
      .map((cells) => {
        const number = cells[1] === 'c' ? cells[2] : ''
        const isInMaintenance = Number(cells[6]) & 1
        return [cells[1], number, cells[3], cells[4], isInMaintenance, cells[7], cells[14], cells[18]].join(' ')
      })
      .toSorted()

  /** The worker's certificates, and the files that the next one would read. */
  const certificates = async (): Promise<readonly (string | undefined)[]> => {
    const folder = paths.configFile.replace(/[^/]+$/, 'fulcrum-certs')
    const names = await host.listFiles(folder)
    const pems = names.filter((name) => name.endsWith('.pem'))
    const answers: string[] = []
    // One after another: a certificate is locked while it is read.
    for (const name of pems) answers.push(await ask(`@1 show ssl cert ${folder}/${name}`))
    const contents = await Promise.all(names.map((name) => host.readFile(`${folder}/${name}`)))
    return [...names, ...contents, ...answers.map((answer) => /FingerPrint: .*$/m.exec(answer)?.[0])]
  }

  await fc.assert(
    fc.asyncProperty(fc.array(configuration, { minLength: 1, maxLength: 6 }), async (path) => {
      for (const desired of path) {
        const steps = driver.plan(running, desired, { atLeast: 'runtime' })
        kinds[steps.some(({ kind }) => kind === 'unit') ? 'reload' : 'runtime'] += 1
        const result = await applyLikeTheEngine(running, desired)
        if (!result.ok) throw new Error(result.output)
        running = desired
      }
      const stepByStep = {
        state: await state(),
        backups: await backupOrder(),
        file: await host.readFile(paths.configFile),
        certificates: await certificates(),
      }
      const result = await apply(undefined, running, 'reload')
      if (!result.ok) throw new Error(result.output)
      t.strictSame(stepByStep, {
        state: await state(),
        backups: await backupOrder(),
        file: await host.readFile(paths.configFile),
        certificates: await certificates(),
      })
    }),
    { numRuns: 15, endOnFailure: true },
  )
  t.ok(kinds.runtime > 0 && kinds.reload > 0, JSON.stringify(kinds))
})
