import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { readDocuments, written } from '../../../src/cli/documents.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

function folder(test: Test, files: Readonly<Record<string, string>>) {
  const path = temporaryFolder(test, 'documents')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(path, name, '..'), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  const read = (names: readonly string[], input = '', env = {}) =>
    readDocuments(
      names.map((name) => (name === '-' ? name : join(path, name))),
      () => input,
      env,
    )
  return { path, read }
}

t.test('several files are one document', (test) => {
  const { read } = folder(test, {
    'a.yaml': 'version: 1\nowner: shop\nrealServers:\n  web1: { ip: 10.0.0.1 }\n',
    'more/b.yml': 'realServers:\n  web2: { ip: 10.0.0.2, port: 0x50 }\n',
    'more/c.json': '{"version": 1, "l7Raw": {"global": ["nbthread 2"]}}',
    'more/notes.txt': 'is no document',
  })
  test.same(read(['a.yaml', 'more']), {
    version: 1,
    owner: 'shop',
    realServers: { web1: { ip: '10.0.0.1' }, web2: { ip: '10.0.0.2', port: 80 } },
    l7Raw: { global: ['nbthread 2'] },
  })
  test.same(read(['-'], 'version: 1'), { version: 1 })
  test.end()
})

t.test('an empty section deletes nothing', (test) => {
  const { read } = folder(test, {
    'a.yaml': 'version: 1\nrealServers:\n  web1: { ip: 10.0.0.1 }\n',
    'bare.yaml': 'realServers:\n#  web9: { ip: 10.0.0.9 }\n',
    'more.yaml': 'realServers:\n  web2: { ip: 10.0.0.2 }\n',
    'owner.yaml': 'owner: shop\n',
    'no-owner.yaml': 'owner:\n',
    'raw.yaml': 'l7Raw: { global: [] }\n',
    'no-raw.yaml': 'l7Raw:\n',
  })
  const both = { version: 1, realServers: { web1: { ip: '10.0.0.1' }, web2: { ip: '10.0.0.2' } } }
  test.same(read(['a.yaml', 'bare.yaml', 'more.yaml']), both)
  test.same(read(['bare.yaml', 'a.yaml', 'bare.yaml', 'more.yaml', 'bare.yaml']), both)
  test.same(read(['bare.yaml']), { realServers: {} })
  test.same(
    read(['no-owner.yaml', 'no-raw.yaml']),
    { owner: null, l7Raw: null },
    'a value that is no section is passed on as it is',
  )
  for (const [one, other] of [
    ['owner', 'no-owner'],
    ['raw', 'no-raw'],
  ] as const)
    for (const files of [
      [one, other],
      [other, one],
    ])
      test.throws(() => read(files.map((file) => `${file}.yaml`)), { message: /keep only one/ }, String(files))
  test.end()
})

t.test('duplicates are refused with both places, and broken parts with their own', (test) => {
  const { read, path } = folder(test, {
    'a.yaml': 'version: 1\nrealServers:\n  web1: { ip: 10.0.0.1 }\n',
    'b.yaml': '# again\nrealServers:\n  web1: { ip: 10.0.0.9 }\n',
    'owner.yaml': 'owner: a\n',
    'other.yaml': 'owner: b\n',
    'half.yaml': 'version: 1\nrealServers:\n  web1: { ip: 10.0.0.1\n',
    'twice.yaml': 'version: 1\nversion: 1\n',
    'list.yaml': '- a\n',
    'empty.yaml': '# nothing\n',
    'none/x.txt': '',
  })
  const refused = (names: readonly string[], message: RegExp) => test.throws(() => read(names), { message })
  refused(['a.yaml', 'b.yaml'], /realServers\.web1 is in .*a\.yaml:2 and in .*b\.yaml:2/)
  refused(['owner.yaml', 'other.yaml'], /owner is in .*owner\.yaml:1 and in .*other\.yaml:1/)
  refused(['half.yaml'], /half\.yaml:\d+:\d+: /)
  refused(['twice.yaml'], /twice\.yaml:2:1: version appears twice/)
  refused(['list.yaml'], /list\.yaml: a document is a map/)
  refused(['empty.yaml'], /is empty/)
  refused(['none'], /has no \.yaml/)
  refused(['absent.yaml'], /there is no file .*absent\.yaml/)
  test.ok(path)
  test.end()
})

t.test('variables and files are filled in, and nothing else is a template', (test) => {
  const { read } = folder(test, {
    'a.yaml': [
      'certificates:',
      '  www: { pem: "${file:www.pem}" }',
      'realServers:',
      '  web: { ip: "${env:WEB}", owner: "$HOME ${other:x} ${}" }',
    ].join('\n'),
    'www.pem': 'PEM\n',
    'no-file.yaml': 'owner: "x"\nrealServers:\n  a: { ip: "${file:absent}" }\n',
  })
  test.same(read(['a.yaml'], '', { WEB: '10.0.0.7' }), {
    certificates: { www: { pem: 'PEM\n' } },
    realServers: { web: { ip: '10.0.0.7', owner: '$HOME ${other:x} ${}' } },
  })
  test.throws(() => read(['a.yaml']), { message: /a\.yaml:4: the variable WEB is not set/ })
  test.throws(() => read(['no-file.yaml']), { message: /no-file\.yaml:3: there is no file .*absent/ })
  test.end()
})

t.test('a tag in front of a template makes it a number or a boolean', (test) => {
  const { read } = folder(test, {
    'a.yaml': [
      'realServers:',
      '  web: { port: !!int "${env:PORT}", weight: !!int 7, enabled: !!bool "${file:on}", name: "${env:PORT}" }',
      '  api:',
      '    port: !!int 80${env:PORT}',
    ].join('\n'),
    on: 'false\n',
    'half.yaml': 'realServers:\n  a:\n    port: !!int ${env:PORT}\n',
    'maybe.yaml': 'a: { b: !!bool "${env:PORT}" }\n',
    'other.yaml': 'a: !!set "${env:PORT}"\n',
  })
  test.same(read(['a.yaml'], '', { PORT: '81' }), {
    realServers: { web: { port: 81, weight: 7, enabled: false, name: '81' }, api: { port: 8081 } },
  })
  for (const PORT of ['8.5', '0x50', '', 'secret: [', '8 0'])
    test.throws(
      () => read(['half.yaml'], '', { PORT }),
      { message: /half\.yaml:3: \$\{env:PORT\} is not a whole number$/ },
      PORT,
    )
  for (const PORT of ['yes', 'constructor'])
    test.throws(() => read(['maybe.yaml'], '', { PORT }), { message: /maybe\.yaml:1: .* is not true or false$/ })
  test.throws(() => read(['other.yaml'], '', { PORT: '1' }), { name: 'Failure' })
  test.end()
})

t.test('text stays text, and a file that is no document is reported', (test) => {
  const { read } = folder(test, {
    'text.yaml': 'l7Raw:\n  global: ["$${env:HOME} $${file:/etc/passwd} ${x}"]\n',
    'bomb.yaml': `a: &a [${'x,'.repeat(50)}]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(50)}]\n`,
    'alias.yaml': 'a: *nothing\n',
    'list.yaml': 'realServers: [1, 2]\n',
    'key.yaml': '? [a, b]\n: 1\n',
    'more/sub.yaml/x.txt': '',
  })
  test.same(read(['text.yaml']), { l7Raw: { global: ['${env:HOME} ${file:/etc/passwd} ${x}'] } })
  for (const name of ['bomb', 'alias', 'list', 'key'])
    test.throws(() => read([`${name}.yaml`]), { name: 'Failure' }, name)
  test.throws(() => read(['more']), { message: /sub\.yaml cannot be read: it is a folder/ })
  test.end()
})

t.test('a saved plan in a folder of documents is called one', (test) => {
  const { read } = folder(test, { 'site/a.yaml': 'owner: shop\n', 'site/p.json': '{"fulcrumPlan":1,"warnings":[]}' })
  test.throws(() => read(['site']), {
    message: /site\/p\.json is a saved plan, not a document: fulcrum apply .*site\/p\.json carries it out$/,
  })
  test.end()
})

t.test('a file that exists is not called absent', (test) => {
  const { read, path } = folder(test, {})
  symlinkSync('round', join(path, 'round'))
  test.throws(() => read(['round']), { name: 'Failure', message: /round cannot be read: ELOOP/ })
  test.end()
})

t.test('names with a meaning in JavaScript have none here', (test) => {
  const { read } = folder(test, {
    'a.yaml': 'realServers:\n  __proto__: { ip: 10.0.0.1 }\n  constructor: { ip: 10.0.0.2 }\n',
  })
  const { realServers } = read(['a.yaml'])
  test.same(Object.keys(Object(realServers)).toSorted(), ['__proto__', 'constructor'])
  test.equal(JSON.stringify(realServers), '{"__proto__":{"ip":"10.0.0.1"},"constructor":{"ip":"10.0.0.2"}}')
  test.end()
})

t.test('values that JSON lacks are refused with their place, and never misread', (test) => {
  const { read, path } = folder(test, {
    'inf.yaml': 'realServers:\n  a: { ip: 10.0.0.1, port: .inf }\n',
    'binary.yaml': 'realServers:\n  a: !!binary aGVsbG8=\n',
    'vault.yaml': 'realServers:\n  a: { ip: !vault secret }\n',
    'two.yaml': 'version: 1\n---\nversion: 1\n',
    'null.yaml': 'realServers:\n  ~: { ip: 10.0.0.1 }\n',
    'number.yaml': 'realServers:\n  1: { ip: 10.0.0.1 }\n  "1": { ip: 10.0.0.2 }\n',
    'file.yaml': 'certificates:\n  a: { pem: "${file:latin1.yaml}" }\n',
  })
  writeFileSync(join(path, 'latin1.yaml'), Buffer.from('realServers:\n  caf\u00e9: {}\n', 'latin1'))
  const refused = (name: string, message: RegExp) => test.throws(() => read([`${name}.yaml`]), { message }, name)
  refused('inf', /inf\.yaml:2:\d+: \.inf cannot be expressed in JSON/)
  refused('binary', /binary\.yaml:2:\d+: aGVsbG8= cannot be expressed in JSON/)
  refused('vault', /vault\.yaml:2:\d+: .*!vault/)
  refused('two', /two\.yaml:2:1: a file contains one document/)
  refused('null', /null\.yaml:2:\d+: a name must be a string/)
  refused('number', /number\.yaml:3:\d+: 1 appears twice/)
  refused('latin1', /latin1\.yaml is not UTF-8 text/)
  refused('file', /file\.yaml:2: .*latin1\.yaml is not UTF-8 text/)
  test.end()
})

t.test('any text is written so that it is read back the same', (test) => {
  const { read } = folder(test, {})
  const piece = fc.oneof(
    fc.stringMatching(/^[ \ta-z#:'"\\$|>&*-]{0,12}$/),
    fc.string(),
    fc.constantFrom('', ' ', '\t', '\r', '# x', '---', '...', '- a', '? x', '\u0085', '\u2028', '\ufeff', '007', '~'),
    fc.constantFrom('word '.repeat(30), `${'é'.repeat(90)} x`),
  )
  const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('\n'))
  const isSame = (value: object) => JSON.stringify(read(['-'], written(value))) === JSON.stringify(value)
  const plain = (one: string) => one.replaceAll('${', '$')
  fc.assert(
    fc.property(text.map(plain), (one) => isSame({ healthChecks: { a: { script: one, list: [one] } } })),
    { numRuns: 2000, examples: [' \n', '\n \n', '\t\n \nx', ` \n${'a'.repeat(50)}\n \nb\r`].map((one) => [one]) },
  )
  test.equal(written({ script: '#!/bin/sh\n\nexit 0\n' }), 'script: |\n  #!/bin/sh\n\n  exit 0\n', 'as people write it')
  test.end()
})

t.test("the written form is read the same by YAML 1.1 parsers, such as Ansible's", (test) => {
  const texts = ['yes', 'No', 'on', 'off', 'y', '12:30:45', '1_000', '0777', '2026-11-29', '=', '<<', '1e3', 'NO']
  const value = { list: texts, names: Object.fromEntries(texts.map((text) => [text, text])) }
  test.same(parse(written(value), { version: '1.1' }), value)
  test.equal(written({ name: 'web1', ip: '10.0.0.1' }), 'name: web1\nip: 10.0.0.1\n', 'and no unnecessary quotes')
  test.end()
})

t.test('a name that YAML reads as a number keeps its letters, or is refused', (test) => {
  const { read } = folder(test, {})
  const named = (name: string) => read(['-'], `realServers:\n  ${name}: { ip: 10.0.0.1 }\n`)['realServers']
  for (const name of ['007', '1.10', '1e3', '0x10', '+1', 'True', '.inf'])
    test.throws(() => named(name), { message: /^-:2:3: \S+ would be / }, name)
  for (const name of ['7', '1.1', 'true', '10.0.0.1']) test.same(Object.keys(Object(named(name))), [name])
  for (const name of ['007', '1.10', 'True']) test.same(Object.keys(Object(named(`"${name}"`))), [name])
  test.end()
})

t.test('a document with the maximum number of servers can be read', (test) => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `  web-${at}: { ip: 10.0.0.1 }\n`)
  const { read } = folder(test, { 'many.yaml': `realServers:\n${lines.join('')}` })
  test.equal(Object.keys(Object(read(['many.yaml'])['realServers'])).length, 20_000)
  test.end()
})
