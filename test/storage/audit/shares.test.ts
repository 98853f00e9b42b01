import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AuditShares } from '../../../storage/audit/shares.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const LIMITS = { bytes_max: 1_000, burst_bytes: 200, bytesPerSecond: 10 }
const line = (by: string, length: number, outcome = 'done') => {
  const text = JSON.stringify({ by, outcome })
  return `${text.slice(0, -1)},"x":"${'x'.repeat(length - text.length - 7)}"}`
}
const segment = (number: number) => `${String(number).padStart(12, '0')}.jsonl`

t.test('a user who has filled the log is slowed down, and no other', async (test) => {
  const shares = new AuditShares(temporaryFolder(test, 'shares'), LIMITS, [], [], 0)
  for (let n = 0; n < 11; n++) shares.add(line('Ann@b', 100), n)
  shares.add(line('bert@b', 900), 20)
  test.equal(shares.wait_s('bert@b', -1, 20), 0)
  test.equal(shares.wait_s('ann@B', -1, 1_000), 0, 'a small burst')
  shares.add(line('ann@b', 100), 1_000)
  test.equal(shares.wait_s('ann@b', -1, 1_000), 0)
  shares.add(line('ann@b', 150), 1_000)
  test.equal(shares.wait_s('ann@b', -1, 1_000), 6, 'until 50 bytes and one are paid')
  test.equal(shares.wait_s('ann@b', -1, 6_100), 0)
  test.equal(shares.wait_s('bert@b', -1, 6_100), 0)
})

t.test('a refused login belongs to no user: it may try any name', async (test) => {
  const shares = new AuditShares(temporaryFolder(test, 'shares'), LIMITS, [], [], 0)
  for (let n = 0; n < 100; n++) shares.add(line('ann@b', 1_000, 'refused'), n)
  shares.add('{"no":"name"}', 0)
  test.equal(shares.wait_s('ann@b', -1, 100), 0)
})

t.test('no user can hide the entries made behind those sent', async (test) => {
  const shares = new AuditShares(temporaryFolder(test, 'shares'), LIMITS, [], [], 0)
  const body = { outcome: 'refused', by: 'bert@b' }
  shares.add(
    JSON.stringify({ by: 'ann@b', path: '/"outcome":"refused"', outcome: 'done', body, x: 'x'.repeat(2_000) }),
    0,
  )
  shares.wait_s('ann@b', -1, 0)
  shares.add(line('ann@b', 300), 0)
  test.ok(shares.wait_s('ann@b', -1, 0) > 0)
  test.equal(shares.wait_s('bert@b', -1, 0), 0)
})

t.test('it is known again after a start; entries that are too old no longer count', async (test) => {
  const folder = temporaryFolder(test, 'shares')
  const shares = new AuditShares(folder, LIMITS, [], [], 0)
  shares.add(line('ann@b', 5_000), 0)
  shares.add(line('bert@b', 100), 0)
  shares.add(line('once@b', 40), 0)
  const [one, two] = [join(folder, segment(1)), join(folder, segment(90))]
  shares.end(one, 50)
  shares.add(line('ann@b', 900), 60)
  shares.end(two, 70)
  shares.note([one, two])
  test.notMatch(readFileSync(join(folder, 'shares.json'), 'utf8'), /once/, 'few entries are not distinguished')
  const again = new AuditShares(folder, LIMITS, [one, two], [line('ann@b', 150)], 80)
  test.equal(again.young(0), 2)
  test.equal(again.young(50), 1)
  test.ok(again.isYoung(one, 49))
  test.notOk(again.isYoung(one, 50))
  again.wait_s('ann@b', 0, 80)
  again.add(line('ann@b', 300), 80)
  test.ok(again.wait_s('ann@b', 0, 80) > 0)
  test.ok(again.wait_s('ann@b', 60, 80) > 0, '900 + 150 + 300')
  test.equal(again.wait_s('ann@b', 70, 80), 0, 'the open one alone is few')
  again.note([two])
  test.equal(again.young(0), 1)
})

t.test(
  'a note that is missing, damaged or cannot be written harms none: existing entries count as young',
  async (test) => {
    for (const text of [undefined, '', '{', '[]', 'null', '{"000000000001.jsonl":{"ended_ms":"x","bytes":{}}}']) {
      const folder = temporaryFolder(test, 'shares')
      if (text !== undefined) writeFileSync(join(folder, 'shares.json'), text)
      const shares = new AuditShares(folder, LIMITS, [join(folder, segment(1))], [], 100)
      test.equal(shares.young(99), 1, String(text))
      test.ok(shares.isYoung(join(folder, segment(1)), 99))
    }
    const folder = temporaryFolder(test, 'shares')
    mkdirSync(join(folder, 'shares.json'))
    new AuditShares(folder, LIMITS, [], [], 0).note([])
  },
)
