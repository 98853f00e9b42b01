import { execFileSync } from 'node:child_process'
import t from 'tap'
import { inserted, lineIn } from '../../../src/cli/bash-line.ts'

const HOSTILE = [
  'web1`id`',
  'web$(id)',
  'web 1',
  'web;id',
  'web*[a]?',
  "web'1",
  'web"1',
  'web\\1',
  'web!1',
  'web&id|id<a>b#{a,b}',
  '~web',
  'web\u00a01',
  'wéb',
]

t.test('a line is parsed as in bash', (test) => {
  const line = String.raw`fulcrum  get 'web 1' "a\"b\c" c\ d e'f'"g" é '' `
  const words = ['fulcrum', 'get', 'web 1', String.raw`a"b\c`, 'c d', 'efg', 'é', '', '']
  test.same(lineIn(line), { words, quote: '' })
  const given = execFileSync('bash', ['-c', `fulcrum() { printf '%s\\n' fulcrum "$@"; }; ${line}`], {
    encoding: 'utf8',
  })
  test.same(given.split('\n'), words)
  test.same(lineIn('fulcrum "web 1'), { words: ['fulcrum', 'web 1'], quote: '"' })
  test.same(lineIn(`fulcrum 'web $1"`), { words: ['fulcrum', 'web $1"'], quote: "'" })
  test.same(lineIn(String.raw`fulcrum \$a "\$b`), { words: ['fulcrum', '$a', '$b'], quote: '"' })
  test.same(lineIn('fulcrum a\\'), { words: ['fulcrum', 'a'], quote: '' })
  test.same(lineIn('fulcrum "a\\'), { words: ['fulcrum', 'a\\'], quote: '"' })
  for (const text of ['fulcrum -c $A w', 'fulcrum "$(echo ")" w', "fulcrum $'a\\''w", 'fulcrum "`a`'])
    test.equal(lineIn(text), undefined, text)
  test.end()
})

t.test('whatever a name contains, bash reads it as one argument, quoted or not', (test) => {
  for (const quote of ['', '"', "'"]) {
    const lines = inserted(HOSTILE, `fulcrum get ${quote}`, '').map((text) => `printf '%s\\n' ${quote}${text}${quote}`)
    test.same(
      execFileSync('bash', ['-c', lines.join('\n')], { encoding: 'utf8' })
        .trimEnd()
        .split('\n'),
      HOSTILE,
      quote,
    )
  }
  test.end()
})

t.test('bash replaces the current word, and nothing where it splits words differently', (test) => {
  test.same(inserted(['fe80::1'], 'fulcrum get fe80:', ''), [':1'])
  test.same(inserted(['ann@corp'], 'fulcrum get ann@c', '@c'), ['@corp'])
  test.same(inserted(['a b:c'], 'fulcrum get a\\ b:', ''), ['c'])
  test.same(inserted(['a b:c'], 'fulcrum get "a b:', 'a b:'), ['a b:c'])
  test.same(inserted(['web 1'], 'fulcrum get WE', 'WE'), ['web\\ 1'])
  test.same(inserted(['web1'], 'fulcrum get we', 'other'), [])
  test.same(inserted(['web1'], 'fulcrum get "we', '"we'), [])
  test.end()
})
