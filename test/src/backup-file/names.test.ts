import t from 'tap'
import { isBackupName, kindOf, madeAt_ms, namesFor, oldestFirst, shownTime } from '../../../src/backup-file/names.ts'

const AT = '2026-01-02T03:04:05.678Z'

t.test('names contain the node, the time and the cause', (test) => {
  const [first, second] = namesFor('lb-1.example.test', AT, undefined)
  test.same([first, second], ['lb-1-example-test-20260102-030405.json', 'lb-1-example-test-20260102-030405-2.json'])
  const [daily = ''] = namesFor('lb-1', AT, 'daily')
  test.equal(daily, 'lb-1-20260102-030405-daily.json')
  test.equal(kindOf(daily), 'daily')
  test.equal(kindOf('lb-1-20260102-030405.json'), undefined)
  test.equal(madeAt_ms(daily), Date.parse('2026-01-02T03:04:05Z'))
  test.end()
})

t.test('every host name makes names that are safe in a folder', (test) => {
  for (const host of ['', '../..', '/etc', '.hidden', '-x', 'a'.repeat(300), 'ü', 'a b\n']) {
    for (const kind of [undefined, 'apply', 'daily'] as const) {
      const [name = ''] = namesFor(host, AT, kind)
      test.ok(isBackupName(name), name)
    }
  }
  for (const name of [
    '',
    '.',
    '..',
    'x.json',
    '../lb-20260102-030405.json',
    'lb-20260102-030405.json\n',
    '.unfinished-1',
  ]) {
    test.notOk(isBackupName(name), JSON.stringify(name))
  }
  test.end()
})

t.test('the oldest is deleted first, whatever the host was called', (test) => {
  const names = [
    'a-20260103-000000-apply.json',
    'z-20260102-000000-apply-10.json',
    'z-20260102-000000-apply-2.json',
    'z-20260102-000000-apply.json',
  ]
  test.same(oldestFirst(names), names.toReversed())
  test.end()
})

t.test('times are shown as specified', (test) => {
  test.equal(shownTime(AT), '02/01/2026 03:04:05 +0000')
  test.end()
})
