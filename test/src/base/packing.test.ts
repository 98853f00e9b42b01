import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { gzipInParts } from '../../../src/base/packing.ts'

const PART = 256 * 1_024

t.test('parts that are compressed separately are one gzip stream', async (test) => {
  const text = Buffer.from(Array.from({ length: 60_000 }, (_, at) => `requests{server="${at}"} ${at * 7}\n`).join(''))
  const random = randomBytes(2 * PART + 17)
  const bodies = [0, 1, PART - 1, PART, PART + 1, text.length].map((bytes) => text.subarray(0, bytes))
  for (const body of [...bodies, random]) {
    let pauses = 0
    const packed = gzipInParts(body, () => void pauses++)
    test.ok(gunzipSync(packed).equals(body), `${body.length} bytes`)
    test.equal(pauses, Math.ceil(body.length / PART))
    test.ok(execFileSync('gzip', ['-dc'], { input: packed, maxBuffer: 1e8 }).equals(body), 'and for another program')
  }
  const once = gzipSync(text, { level: 1 }).length
  test.ok(gzipInParts(text, () => undefined).length < 1.1 * once, 'it is hardly larger')
})
