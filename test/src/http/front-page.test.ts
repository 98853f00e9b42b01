import { createHash } from 'node:crypto'
import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

t.test(
  'a browser on / is told what this is and where its documentation is; a program gets the coded refusal',
  async (t) => {
    const { appliance } = await applianceFixture(t)
    const ask = async (
      path: string,
      accept: string,
      headers: Readonly<Record<string, string>> = {},
      method = 'GET',
    ) => {
      const sent: Readonly<Record<string, string>> = { accept, ...headers }
      const answer = await appliance.inject({
        method,
        path,
        query: '',
        address: '192.0.2.1',
        header: (name) => sent[name] ?? '',
        isAmbiguous: false,
        readBody: async () => new Uint8Array(),
      })
      return { ...answer, text: Buffer.from(answer.body).toString() }
    }
    const page = await ask('/', BROWSER)
    t.match(page, { status: 200, contentType: 'text/html; charset=utf-8', text: /<h1>Fulcrum<\/h1>/ })
    t.notMatch(page.text, /<script|style=|src=|\/\/|\son\w+=/, 'nothing runs, nothing comes from another host')
    const links = [...page.text.matchAll(/<a href="([^"]+)"/g)].map(([, link = '']) => link)
    t.strictSame(links, ['api/v1/docs', 'api/v1/openapi.json'])
    for (const link of links) t.equal((await ask(`/${link}`, BROWSER)).status, 200, link)
    const policy = page.headers['Content-Security-Policy'] ?? ''
    const style = /<style>(.*)<\/style>/.exec(page.text)?.[1] ?? ''
    t.ok(policy.includes(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`), policy)
    t.match(policy, /^default-src 'none';/)
    t.notMatch(policy, /unsafe|script-src/)
    t.match(page.headers, { Vary: 'Accept, Accept-Encoding', 'Referrer-Policy': 'no-referrer', ETag: String })
    const tag = page.headers['ETag'] ?? ''
    const statuses = await Promise.all(
      [1, 2].map(async () => (await ask('/', BROWSER, { 'if-none-match': tag })).status),
    )
    t.ok(statuses.includes(304), 'who has it is not sent it again')
    for (const accept of ['', '*/*', 'application/json', 'application/json, text/html;q=0.5']) {
      const { status, code, text } = await ask('/', accept)
      t.match({ status, code, ...JSON.parse(text) }, { status: 'error', code: 'UNKNOWN_ENDPOINT' }, accept)
      t.equal(status, 404)
    }
    t.equal((await ask('/other', BROWSER)).status, 404)
    t.equal((await ask('/', BROWSER, {}, 'POST')).status, 404)
  },
)
