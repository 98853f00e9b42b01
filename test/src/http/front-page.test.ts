import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { PageFiles } from '../../../src/http/front-page.ts'
import { applianceFixture } from '../../fixtures/appliance.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const MADE = fileURLToPath(new URL('../../../node_modules/.page/', import.meta.url))

async function asking(test: Parameters<typeof applianceFixture>[0]) {
  const { appliance } = await applianceFixture(test)
  return async (path: string, sent: Readonly<Record<string, string>> = { accept: BROWSER }, method = 'GET') => {
    const answer = await appliance.inject({
      method,
      path,
      query: '',
      address: '192.0.2.1',
      header: (name) => sent[name] ?? '',
      isAmbiguous: false,
      readBody: async () => new Uint8Array(),
    })
    return { ...answer, bytes: Buffer.from(answer.body), text: Buffer.from(answer.body).toString() }
  }
}

t.test('a browser on / gets the page, which runs only its own files', async (test) => {
  const ask = await asking(test)
  const page = await ask('/')
  test.match(page, { status: 200, contentType: 'text/html; charset=utf-8', text: /<title>Fulcrum<\/title>/ })
  test.notMatch(page.text, /<style|style=|<script(?![^>]* src="assets\/)|\son\w+=/, 'nothing that the policy forbids')
  const policy = page.headers['Content-Security-Policy'] ?? ''
  test.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  test.match(policy, /require-trusted-types-for 'script'/)
  test.notMatch(policy, /unsafe|https?:|\*/)
  test.match(page.headers, { Vary: 'Accept, Accept-Encoding', 'Cache-Control': 'no-cache', ETag: String })
  const tag = page.headers['ETag'] ?? ''
  const again = await Promise.all([1, 2].map(() => ask('/', { accept: BROWSER, 'if-none-match': tag })))
  test.ok(
    again.some(({ status }) => status === 304),
    'a browser that has it is not sent it again',
  )
  const assets = [...page.text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, path = '']) => path)
  test.ok(assets.length > 2)
  for (const path of assets) {
    const asset = await ask(`/${path}`)
    test.match(asset, { status: 200, contentType: /^text\/(css|javascript)/ }, path)
    test.match(asset.headers['Cache-Control'], /immutable/, path)
    // Tiny files are sent as they are.
    if (asset.bytes.length < 2000) continue
    for (const [encoding, plain] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const small = await ask(`/${path}`, { 'accept-encoding': encoding })
      test.equal(small.headers['Content-Encoding'], encoding)
      test.ok(plain(small.bytes).equals(asset.bytes), `${path} as ${encoding}`)
    }
  }
})

t.test('programs get a 404, and no name from outside becomes a path', async (test) => {
  const ask = await asking(test)
  for (const accept of ['', '*/*', 'application/json', 'application/json, text/html;q=0.5']) {
    const { status, text } = await ask('/', { accept })
    test.match({ status, ...JSON.parse(text) }, { code: 'UNKNOWN_ENDPOINT' }, accept)
    test.equal(status, 404)
  }
  for (const path of ['/other', '/assets/', '/assets/index.html', '/assets/files.json', '/assets/../package.json'])
    test.equal((await ask(path)).status, 404, path)
  test.equal((await ask('/assets/%2e%2e/files.json')).status, 404)
  test.equal((await ask('/', { accept: BROWSER }, 'POST')).status, 404)
})

t.test('where the page was not built, the documents about the API remain', async (test) => {
  const files = new PageFiles(`${temporaryFolder(test, 'page')}/`)
  test.match(Buffer.from(files.front().body).toString(), /api\/v1\/docs/)
  test.equal(files.asset('main.js'), undefined)
})

t.test("a file of an older version's package does not exist", async (test) => {
  const folder = `${temporaryFolder(test, 'page')}/`
  const listed = ['index.html', 'a.js', 'b.js'].map((name) => ({ name, type: 'text/javascript', etag: '"1"' }))
  writeFileSync(`${folder}files.json`, JSON.stringify({ files: listed }))
  for (const ending of ['', '.br', '.gz']) writeFileSync(`${folder}a.js${ending}`, ending)
  const files = new PageFiles(folder)
  test.match(files.asset('a.js'), { etag: '"1"' })
  test.equal(files.asset('b.js'), undefined)
  rmSync(`${folder}a.js`)
  test.match(files.asset('a.js'), { etag: '"1"' }, 'files that were read are kept')
  test.match(files.front().body.toString(), /docs/)
})

t.test('the first files of the page are small', async (test) => {
  const { first } = JSON.parse(readFileSync(`${MADE}files.json`, 'utf8')) as { readonly first: readonly string[] }
  const size = (ending: string) =>
    first
      .filter((name) => name.endsWith(ending))
      .reduce((sum, name) => sum + readFileSync(`${MADE}${name}.gz`).length, 0)
  test.ok(size('.js') <= 60 * 1024, `${size('.js')} bytes of scripts, gzip`)
  test.ok(size('.css') <= 10 * 1024, `${size('.css')} bytes of styles, gzip`)
  test.ok(size('.js') > 10_000)
})
