import t from 'tap'
import { type Endpoint, endpoint } from '../../../src/api/endpoint.ts'
import { Documents } from '../../../src/api/documents.ts'
import { refuses } from '../../fixtures/config.ts'

const table: readonly Endpoint[] = [
  endpoint({
    name: 'a.get',
    method: 'GET',
    path: '/a',
    effect: 'read',
    staged: false,
    summary: 's',
    message: 'm',
    handle: () => undefined,
  }),
]
const documents = () => new Documents(table, '1.2.3')

t.test('the API description is generated once, and its tag changes with its content', async (test) => {
  const once = documents()
  const document = once.openapi()
  test.equal(once.openapi(), document)
  test.match(document, { contentType: 'application/json', etag: /^"[\w-]{22}"$/, cacheControl: 'no-cache' })
  const { info, paths } = JSON.parse(String(document.body))
  test.equal(info.version, '1.2.3')
  test.same(Object.keys(paths), ['/a'])
  test.equal(documents().openapi().etag, document.etag, 'also after a restart')
  test.not(new Documents(table, '1.2.4').openapi().etag, document.etag)
})

t.test('the page loads nothing from elsewhere', async (test) => {
  const page = documents().page('index.html')
  const html = String(page.body)
  test.match(page.contentType, /^text\/html/)
  test.match(page.headers, { 'Content-Security-Policy': /default-src 'none'/, 'Referrer-Policy': 'no-referrer' })
  test.notMatch(page.headers?.['Content-Security-Policy'], /https?:|\*|'unsafe-eval'/)
  const linked = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target = '']) => target)
  test.notMatch(linked.join(' '), /\/\//)
  const files = linked.filter((target) => !target.startsWith('data:'))
  test.equal(files.length, 3)
  for (const file of files) test.ok(documents().page(file.replace(/^docs\//, '')).body.length > 0, file)
})

t.test('every file has its type and a tag', async (test) => {
  const types: Readonly<Record<string, RegExp>> = {
    'index.html': /^text\/html/,
    'start.js': /^text\/javascript/,
    'swagger-ui.css': /^text\/css/,
    'swagger-ui-bundle.js': /^text\/javascript/,
  }
  for (const [file, contentType] of Object.entries(types)) {
    test.match(documents().page(file), { contentType, etag: /^"[\w-]{22}"$/, cacheControl: 'no-cache' }, file)
  }
})

t.test('a document is read and hashed once, and kept as bytes', async (test) => {
  const once = documents()
  for (const file of ['index.html', 'start.js', 'swagger-ui.css', 'swagger-ui-bundle.js']) {
    test.equal(once.page(file), once.page(file), file)
    test.ok(once.page(file).body instanceof Uint8Array)
  }
  test.ok(once.openapi().body instanceof Uint8Array, 'text would be copied for each client')
})

t.test('a name from outside never becomes a path', async (test) => {
  const names = [
    '',
    'nope.js',
    '../package.json',
    'package.json',
    'swagger-ui.js',
    'constructor',
    '__proto__',
    'toString',
  ]
  for (const name of names) await refuses(test, 'NOT_FOUND', () => documents().page(name))
})
