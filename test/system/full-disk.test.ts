/**
 * The stores on disks that are full or fail: a small file system of their own, and faults injected into system calls.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { checkArchiveDirectory } from '../../storage/archive/check.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { METRIC_COUNT } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { NoRoomError } from '../../storage/room.ts'
import { KILL_START_S, killValue } from '../storage/archive/kill-values.ts'
import { seededRandom } from '../storage/archive/reference-model.ts'
import { stageIn } from '../fixtures/entries.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'

const MIB = 1_024 * 1_024
const ROUNDS = Number(process.env['FULCRUM_TEST_FAULTS'] ?? 6)

class Feed {
  writer: ArchiveWriter
  readonly directory: string
  /** Errors of seconds that no commit stored in time. */
  readonly errors: unknown[] = []

  readonly #objects: number

  constructor(directory: string, objects: number) {
    this.#objects = objects
    this.directory = directory
    this.writer = new ArchiveWriter(directory, KILL_START_S)
  }

  run(seconds: number): void {
    const { ring } = this.writer
    for (let i = 0; i < seconds; i++) {
      const second = ring.written()
      ring.beginSecond(second)
      for (let n = 0; n < this.#objects; n++) {
        const slot = this.writer.ensure('server', `server-${n}`, 'backend')?.slot ?? -1
        for (let metric = 0; metric < METRIC_COUNT; metric++) {
          if (slot >= 0) ring.set(slot, second, metric, killValue(n, metric, second))
        }
      }
      try {
        this.writer.commit(second + 1, true, undefined)
        if (this.writer.shortage !== undefined) this.writer.relieve()
      } catch (error) {
        this.errors.push(error)
      }
    }
  }

  /** Number of values of the last `seconds` seconds that differ from those written. */
  wrong(seconds: number): number {
    return wrongValues(this.directory, this.writer, seconds)
  }
}

const isNoRoom = (error: unknown): boolean => error instanceof NoRoomError

function wrongValues(directory: string, writer: ArchiveWriter, seconds: number): number {
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const end = reader.hwm_s()
  const from = Math.max(end - seconds, KILL_START_S - 5)
  const n = end - from
  const values = new Float64Array(n * METRIC_COUNT)
  let wrong = 0
  for (const object of writer.objects()) {
    const number = Number(object.name.slice('server-'.length))
    reader.readBase(object, from, end, values)
    for (let i = 0; i < values.length; i++) {
      if (values[i] !== killValue(number, Math.floor(i / n), from + (i % n))) wrong++
    }
  }
  return wrong
}

t.test(
  'a full disk: served from memory, reported, kept whole, stored when there is space again',
  { skip: noSmallDisk },
  async (t) => {
    const directory = smallDisk(t, 64)
    const feed = new Feed(join(directory, 'archive'), 1_000)
    feed.run(30)
    t.strictSame(feed.errors, [])
    const ballast = join(directory, 'ballast')
    const { bavail, bsize } = statfsSync(directory)
    writeFileSync(ballast, new Uint8Array(bavail * bsize))
    feed.run(600)
    t.equal(feed.writer.shortage, 'the disk is full')
    t.ok(feed.errors.length > 10, `${feed.errors.length} of 600 seconds could not be stored`)
    t.ok(feed.errors.every(isNoRoom), 'LMDB never met the full disk')
    t.equal(feed.writer.ring.hwm(), feed.writer.ring.written(), 'these seconds are served all the same')
    t.equal(feed.wrong(250), 0)
    const { hwm_s } = feed.writer
    await feed.writer.close()
    feed.writer = new ArchiveWriter(feed.directory, hwm_s)
    t.equal(feed.writer.hwm_s, hwm_s, 'a restart needs no space')
    t.equal(feed.wrong(250), 0)
    truncateSync(ballast, 0)
    feed.run(5)
    t.equal(feed.writer.shortage, undefined, 'it recovers on its own')
    t.equal(feed.writer.hwm_s, feed.writer.ring.hwm())
    t.equal(feed.wrong(200), 0)
    await feed.writer.close()
    t.strictSame(await checkArchiveDirectory(feed.directory), [])
  },
)

t.test('a disk that is full at random moments loses nothing in short times', { skip: noSmallDisk }, async (t) => {
  const directory = smallDisk(t, 64)
  const random = seededRandom(5)
  const ballast = join(directory, 'ballast')
  const feed = new Feed(join(directory, 'archive'), 250)
  let short = 0
  for (let round = 0; round < 60; round++) {
    const { bavail, bsize } = statfsSync(directory)
    // Less than a piece of room is left, or nothing at all.
    const left = random() < 0.4 ? 0 : Math.floor((random() * MIB) / 4)
    appendFileSync(ballast, new Uint8Array(Math.max(0, bavail * bsize - left)))
    feed.run(1 + Math.floor(random() * 60))
    if (feed.writer.shortage !== undefined) short++
    if (feed.writer.ring.written() - feed.writer.hwm_s > 100) {
      rmSync(ballast)
      feed.run(1)
    }
  }
  rmSync(ballast, { force: true })
  feed.run(1)
  t.ok(short > 5, `${short} of 60 rounds met a full disk`)
  t.ok(feed.errors.length > 10, `${feed.errors.length} commits were refused`)
  t.ok(feed.errors.every(isNoRoom), 'LMDB never met it')
  t.equal(feed.writer.hwm_s, feed.writer.ring.written())
  t.equal(feed.wrong(3_000), 0)
  await feed.writer.close()
  t.strictSame(await checkArchiveDirectory(feed.directory), [])
})

t.test(
  'the configuration on a full disk: refused whole, unchanged, and staged when there is space',
  { skip: noSmallDisk },
  async (t) => {
    const directory = smallDisk(t, 16)
    const store = new LmdbConfigStore(join(directory, 'config'))
    const origin = { actor: 'tester', endpoint: 'test.write', at: '2026-01-02T03:04:05.000Z' }
    const write = (name: string) => ({ section: 'things', scope: '', key: name, value: { text: name.repeat(200) } })
    await stageIn(store, [write('before')], origin)
    const ballast = join(directory, 'ballast')
    const { bavail, bsize } = statfsSync(directory)
    writeFileSync(ballast, new Uint8Array(bavail * bsize))
    let staged = 0
    let refusal: unknown
    while (refusal === undefined && staged < 5_000) {
      await stageIn(store, [write(`during-${staged}`)], origin).then(
        () => staged++,
        (error: unknown) => (refusal = error),
      )
    }
    t.ok(isNoRoom(refusal), `refused after ${staged} records, which fitted into the available space`)
    t.equal(store.changes().length, staged + 1)
    rmSync(ballast)
    await stageIn(store, [write('after')], origin)
    await store.close()
    const again = new LmdbConfigStore(join(directory, 'config'))
    t.equal(again.changes().length, staged + 2)
    await again.close()
  },
)

t.test('a first start on a full disk says so', { skip: noSmallDisk }, async (t) => {
  const directory = smallDisk(t, 2)
  mkdirSync(join(directory, 'archive'))
  mkdirSync(join(directory, 'config'))
  const { bavail, bsize } = statfsSync(directory)
  writeFileSync(join(directory, 'ballast'), new Uint8Array(bavail * bsize))
  t.throws(() => new ArchiveWriter(join(directory, 'archive'), KILL_START_S), /the disk is full/)
  t.throws(() => new LmdbConfigStore(join(directory, 'config')), /the disk is full/)
})

/** Runs the child with one kind of fault in the calls that write its files; returns the last second it reported. */
async function runWithFaults(directory: string, fault: string): Promise<{ reported: number; failed: number }> {
  const script = new URL('../storage/archive/fault-child.ts', import.meta.url).pathname
  const calls = 'pwrite64,writev,pwritev,fdatasync,fsync,msync'
  const files = ['data.mdb', 'tail-0', 'tail-1'].flatMap((name) => ['-P', join(directory, name)])
  const trace = ['-f', '-qq', '-o', '/dev/null', ...files, '-e', `trace=${calls}`]
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', script, directory, '150']
  const child = spawn('strace', [...trace, '-e', `inject=${fault}`, ...node], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  let reported = 0
  let failed = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'failed') failed++
    else reported = Number(line)
  }
  await exited
  return { reported, failed }
}

t.test('a disk that fails in any call: whatever happens to the process, reported seconds are there', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'archive-eio-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const random = seededRandom(17)
  let failures = 0
  let last = 0
  for (let round = 0; round < ROUNDS; round++) {
    const calls = random() < 0.5 ? 'fdatasync,fsync,msync' : 'pwrite64,writev,pwritev'
    const fault = `${calls}:error=${random() < 0.5 ? 'EIO' : 'ENOSPC'}:when=${20 + Math.floor(random() * 400)}`
    const { reported, failed } = await runWithFaults(directory, fault)
    failures += failed
    const writer = new ArchiveWriter(directory, KILL_START_S)
    last = Math.max(last, reported)
    t.ok(writer.hwm_s >= last, `${fault}: ${failed} failed, up to ${last} reported, up to ${writer.hwm_s} found`)
    t.equal(wrongValues(directory, writer, 600), 0)
    await writer.close()
    t.strictSame(await checkArchiveDirectory(directory), [])
  }
  t.ok(failures > 0, `${failures} commits failed`)
})

/** Returns what a store reports of its writes while calls that write its file meet faults of one kind. */
async function configWithFaults(directory: string, fault: string): Promise<readonly string[]> {
  const script = new URL('../storage/config/fault-child.ts', import.meta.url).pathname
  const calls = 'pwrite64,writev,pwritev,fdatasync,fsync,msync'
  const trace = ['-f', '-qq', '-o', '/dev/null', '-P', join(directory, 'data.mdb'), '-e', `trace=${calls}`]
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', script, directory, '30']
  const child = spawn('strace', [...trace, '-e', `inject=${fault}`, ...node], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) lines.push(line)
  await exited
  return lines
}

t.test('the configuration on a disk that fails in any call: it continues, and its answers hold', async (t) => {
  const random = seededRandom(29)
  let failures = 0
  for (let round = 0; round < ROUNDS; round++) {
    const directory = temporaryFolder(t)
    await new LmdbConfigStore(directory).close()
    const isSync = round === 0 || random() < 0.5
    const calls = isSync ? 'fdatasync,fsync,msync' : 'pwrite64,writev,pwritev'
    // Each thread counts its own calls.
    const fault = `${calls}:error=EIO:when=${3 + Math.floor(random() * 4)}+`
    const lines = await configWithFaults(directory, fault)
    // For a failed write, lmdb-js formats a text that is longer than its memory, which may end the process.
    if (isSync) t.equal(lines.at(-1), 'closed', `${fault}: ${lines.length} lines, to the end`)
    const store = new LmdbConfigStore(directory)
    const found = new Set([
      ...store.changes().map(({ key }) => `thing ${key}`),
      ...store.sessions.entries().map(({ key }) => `session ${key}`),
    ])
    const told = (how: string) => lines.filter((line) => line.startsWith(how)).map((line) => line.slice(how.length))
    t.same(
      told('ok ').filter((what) => !found.has(what)),
      [],
      'answered edits are there',
    )
    t.same(
      told('refused ').filter((what) => found.has(what)),
      [],
      'refused edits are not',
    )
    const inDoubt = told('StoreFailedError ').length
    t.ok(inDoubt <= 1, `${inDoubt} in doubt`)
    failures += inDoubt
    await store.close()
  }
  t.ok(failures > 0, `LMDB failed in ${failures} of ${ROUNDS} rounds`)
})

t.test('access log: records that the disk refused in a journal are kept as a segment', async (t) => {
  const folder = temporaryFolder(t)
  const [store, rows] = ['storage/logs/store.ts', 'test/fixtures/log-rows.ts'].map(
    (path) => new URL(`../../${path}`, import.meta.url).href,
  )
  const code = `const { LogStore } = await import('${store}')
    const { logRow } = await import('${rows}')
    const store = new LogStore('${folder}', { bytes_max: 1e9, age_ms: 1e12 })
    store.append([logRow({ path: '/1' })], 1)
    // The flush is under way.
    while (store.segments.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      store.tidy(Date.now(), 1)
      if (performance.now() > 60_000) break
    }
    console.log(store.segments.length, store.open.rows.length)`
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code]
  const fault = ['-P', join(folder, '000000000001.journal'), '-e', 'trace=fdatasync']
  const inject = ['-e', 'inject=fdatasync:error=EIO']
  const child = spawn('strace', ['-f', '-qq', '-o', '/dev/null', ...fault, ...inject, ...node])
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  await once(child, 'close')
  t.equal(said, '1 0\n')
})

t.test('a power cut loses no file of the crash tail: the name of each is flushed', async (t) => {
  const directory = temporaryFolder(t)
  const trace = join(temporaryFolder(t), 'trace')
  const tail = new URL('../../storage/archive/tail-file.ts', import.meta.url).href
  const code = `const { RecordSink, TailFile } = await import('${tail}')
    const [sink, file] = [new RecordSink(), new TailFile('${directory}', { mark: 1, pair: 0 })]
    for (const second of [1_000, 1_001]) {
      sink.begin(second + 1)
      file.append(sink, second, second + 1, second)
    }`
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code]
  const child = spawn('strace', ['-f', '-qq', '-y', '-o', trace, '-e', 'trace=openat,fsync,fdatasync', ...node])
  await once(child, 'exit')
  const calls = readFileSync(trace, 'utf8').split('\n')
  for (const path of [join(directory, 'tail-0'), join(directory, 'tail-1')]) {
    const at = (what: (call: string) => boolean, from = 0) => calls.findIndex((call, n) => n >= from && what(call))
    const made = at((call) => call.includes(`"${path}", O_RDWR|O_CREAT`))
    const named = at((call) => call.includes(' fsync(') && call.includes(`<${directory}>`), made)
    t.ok(made >= 0 && named > made, `${path} is created, and its name is flushed`)
  }
})
