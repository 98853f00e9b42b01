import { applyPatch } from 'diff'
import t from 'tap'
import { fileDiff } from '../../../src/config/file-diff.ts'

t.test('a small difference is shown in its context', async (test) => {
  const diff = fileDiff('/f', 'a\nb\nc\nd\n', 'a\nb\nX\nd\n')
  test.match(diff, /--- \/f\trunning\n\+\+\+ \/f\tcandidate\n/)
  test.match(diff, / b\n-c\n\+X\n d\n/)
})

t.test('a difference in every one of many lines is one hunk, and no hunk is lost', async (test) => {
  const lines = (word: string) =>
    ['same', ...Array.from({ length: 20_000 }, (_, i) => `${word} ${(i * 7919) % 20_000}`), 'end', ''].join('\n')
  const diff = fileDiff('/f', lines('old'), lines('new'))
  test.equal(diff.match(/^-old /gm)?.length, 20_000)
  test.equal(diff.match(/^\+new /gm)?.length, 20_000)
  test.notMatch(diff, /^[-+]same/m)
  test.equal(applyPatch(lines('old'), diff), lines('new'))
})

t.test('lines are counted from the beginning of the file', async (test) => {
  const file = (word: string) => [...Array.from({ length: 5_000 }, (_, i) => `line ${i}`), word, 'end', ''].join('\n')
  const diff = fileDiff('/f', file('old'), file('new one'))
  test.equal(
    diff,
    [
      'Index: /f',
      '='.repeat(67),
      '--- /f\trunning',
      '+++ /f\tcandidate',
      '@@ -4998,5 +4998,5 @@',
      ' line 4997',
      ' line 4998',
      ' line 4999',
      '-old',
      '+new one',
      ' end',
      '',
    ].join('\n'),
  )
})

t.test('any diff turns one file into the other', async (test) => {
  let state = 7
  const next = (bound: number) => (state = (state * 48_271) % 2_147_483_647) % bound
  const random = () =>
    Array.from({ length: next(30) }, () => `${'ab'[next(2)]}${next(3) === 0 ? 'x'.repeat(next(5_000)) : ''}\n`)
  for (let n = 0; n < 500; n++) {
    const lines = random()
    const changed = [...lines]
    for (let edits = next(4); edits >= 0; edits--)
      changed.splice(next(lines.length + 1), next(3), ...random().slice(0, next(3)))
    const [before, after] = [lines.join(''), changed.join('')]
    if (applyPatch(before, fileDiff('/f', before, after)) !== after) test.fail(JSON.stringify([before, after]))
  }
  test.pass()
})
