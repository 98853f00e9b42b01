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
})
