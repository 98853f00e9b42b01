import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { gunzipSync, brotliDecompressSync } from 'node:zlib'
import t from 'tap'
import { expositionPool } from '../../src/threads/worker-pool.ts'

/** The nice values of this process's threads: field 19 of `stat`, the 17th after the name. */
const niceness = () =>
  readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

t.test('a thread of a lower priority compresses into memory that threads share', async (test) => {
  const pool = expositionPool()
  test.teardown(() => pool.close())
  const before = getPriority()
  test.notOk(niceness().includes(10))
  const shared = new Uint8Array(new SharedArrayBuffer(300_000)).fill(65)
  for (const body of [shared, Uint8Array.from(shared)]) {
    const zipped = await pool.run('pack', { packing: 'gzip', body })
    test.type(zipped.buffer, SharedArrayBuffer)
    test.ok(gunzipSync(zipped).equals(body))
    test.ok(brotliDecompressSync(await pool.run('pack', { packing: 'br', body })).equals(body))
  }
  test.equal(niceness().filter((nice) => nice === 10).length, 1)
  test.equal(getPriority(), before, 'the answering thread is unchanged')
})
