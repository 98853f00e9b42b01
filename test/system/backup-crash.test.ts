import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { KEPT_MAX } from '../../src/backup/backups.ts'
import { readBackup } from '../../src/backup-file/reading.ts'
import { parseLimited } from '../../workers/compute/limited-json.ts'
import { signed } from '../fixtures/backup.ts'
import { realServer } from '../fixtures/config.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const SERVERS = 400
/** Kills of each operation, spread over its duration. */
const KILLS = Number(process.env['FULCRUM_TEST_BACKUP_KILLS'] ?? 2)

/** Longer than the longest operation takes on a quiet machine. The last kill comes after the answer on any. */
const DELAY_MS_MAX = 400

const servers = (weight: number) =>
  Array.from({ length: SERVERS }, (_, n) => realServer(`web-${n}`, { ip: `127.1.${n >> 8}.${n & 255}`, weight }))

t.test(
  'kill -9 during backup, upload, restore and automatic backup leaves the old or the new state, and no half file in the list',
  { timeout: 1_800_000 },
  async (test) => {
    const daemon = await daemonFixture(test)
    const backups = join(daemon.state, 'backups')
    const first = (await daemon.call('GET', '/backup')).json
    const files = (weight: number) => {
      first.sections.realServers.data.realServers = servers(weight)
      return signed(first)
    }
    const upload = (text: string) => daemon.call('POST', '/backup/upload', { body: { backup: text } })
    const restore = (file: string) => daemon.call('POST', '/backup/restore', { body: { file } })
    const named = (message: string) => /stored as (\S+)/.exec(message)?.[1] ?? ''
    const [one, two] = [named((await upload(files(1))).json.message), named((await upload(files(2))).json.message)]
    await restore(one)
    await daemon.data('PUT', '/services/apply')

    const pending = async () => {
      const { revision, count } = await daemon.data('GET', '/services/pending')
      return { revision, count }
    }
    /** The file that does not match the running configuration. */
    const other = async () => ((await daemon.data('GET', '/ipvsDirector/rips'))[0].weight === 1 ? two : one)
    const kept = async () => {
      const { uploads, auto } = await daemon.data('GET', '/backup/list')
      return { uploads: uploads.length, auto: auto.length }
    }
    /** Checks that every file in the folders is whole and listed. */
    const allWhole = async (title: string) => {
      const listed = await kept()
      for (const folder of ['uploads', 'auto'] as const) {
        // Beside them are the daemon's notes about them.
        const names = readdirSync(join(backups, folder)).filter((name) => !name.startsWith('.heads.json'))
        test.equal(names.length, listed[folder], `${title}: everything in ${folder} is listed`)
        const broken = names.filter(
          (name) => 'problems' in readBackup(readFileSync(join(backups, folder, name)), undefined, parseLimited),
        )
        test.same(broken, [], title)
      }
    }
    const operations: Readonly<Record<string, (file: string) => Promise<{ readonly status: number }>>> = {
      backup: () => daemon.call('GET', '/backup'),
      upload: () => upload(files(3)),
      restore,
      apply: () => daemon.call('PUT', '/services/apply'),
    }
    for (const [name, operation] of Object.entries(operations)) {
      for (let kill = 0; kill < KILLS; kill += 1) {
        if (name === 'apply') {
          await daemon.data('DELETE', '/services/pending')
          const file = await other()
          // The check of an earlier restore may still run.
          await until(
            'a restore',
            () => restore(file),
            ({ status }) => status === 202,
          )
        }
        const before = { ...(await pending()), ...(await kept()) }
        const file = await other()
        const answer = operation(file).catch(() => ({ status: 0 }))
        if (kill < KILLS - 1) await wait(DELAY_MS_MAX * ((kill + 0.3) / KILLS) ** 2)
        else test.ok((await answer).status < 300, `${name} is answered`)
        await daemon.kill('SIGKILL')
        // An answer that broke off never ends.
        const { status } = await Promise.race([answer, wait(300, { status: 0 })])
        await daemon.start()
        await daemon.login()
        const after = { ...(await pending()), ...(await kept()) }
        const title = `${name} ${kill}: answered ${status}`
        test.comment(`${title} ${JSON.stringify(before)} ${JSON.stringify(after)}`)
        await allWhole(title)
        test.ok(after.uploads === before.uploads || (name === 'upload' && after.uploads === before.uploads + 1), title)
        const mayBe = name === 'apply' ? [before.auto, before.auto + 1, KEPT_MAX.apply] : [before.auto]
        test.ok(mayBe.includes(after.auto), title)
        if (status === 200 && name === 'upload') test.equal(after.uploads, before.uploads + 1, `${title}: kept`)
        if (status === 200 && name === 'apply')
          test.equal(after.auto, Math.min(before.auto + 1, KEPT_MAX.apply), `${title}: kept`)
        if (name === 'restore') test.ok([0, SERVERS].includes(after.count), `${title}: all of it or none`)
        if (status === 202) test.equal(after.count, SERVERS, `${title}: kept`)
        if (name === 'apply') test.equal(after.count, after.revision === before.revision ? SERVERS : 0, title)
        else test.equal(after.revision, before.revision, title)
        if (name === 'restore') await daemon.data('DELETE', '/services/pending')
      }
    }
    // Every weight is the applied one: two backups are never mixed.
    const weights = new Set(
      (await daemon.data('GET', '/ipvsDirector/rips')).map(({ weight }: { weight: number }) => weight),
    )
    test.equal(weights.size, 1)
  },
)
