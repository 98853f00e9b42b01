import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endpoints } from './attack-fixture.ts'
import { HOSTILE, isTorn } from './hostile-texts.ts'
import { loggedFixture } from './raw-fixture.ts'
import { Dice, fitting, requestFor } from './request-maker.ts'
import { texts } from './whole-node.ts'

t.test(
  'injection: every text field of every endpoint, alone: no defect, no torn header, one line of log per entry',
  async (test) => {
    const { call, node, lines } = await loggedFixture(test)
    const dice = new Dice(1)
    const samples = { applianceId: [node], applianceID: [node], id: ['unknown-1'] }
    // Without endpoints that end the caller's rights, or wait for ever.
    const asked = endpoints.filter(
      ({ name, body }) =>
        body !== undefined && !/^(loginPolicy|saml|oidc)\.update|events|account\.changePassword/.test(name),
    )
    const wrong: string[] = []
    let count = 0
    for (const endpoint of asked) {
      const { path, method } = requestFor({ ...endpoint, query: undefined }, dice, samples)
      const body = endpoint.body === undefined ? {} : fitting(endpoint.body, '', dice, {})
      const isSlow = /^(auth\.login|localUsers|radiusConfig\.test|account)/.test(endpoint.name)
      for (const place of texts(body))
        for (const text of isSlow ? HOSTILE.filter((_, index) => index % 20 === 0) : HOSTILE) {
          count += 1
          const { status, headers, text: answer } = await call(method, path, { body: place.with(text) })
          if (status === 401 && endpoint.access !== 'public') continue
          if (status >= 500 && status !== 503)
            wrong.push(`${endpoint.name} ${place.at} ${JSON.stringify(text)}: ${answer}`)
          if (isTorn(Object.values(headers).join(''))) wrong.push(`${endpoint.name}: a header is torn`)
        }
    }
    test.same(wrong, [])
    test.comment(`${count} requests to ${asked.length} endpoints`)
    test.ok(lines.every((line) => line.indexOf('\n') === line.length - 1 && JSON.parse(line).level))
  },
)

t.test('injection: texts in paths, queries and headers never tear a header of the answer', async (test) => {
  const { anonymous, call } = await loggedFixture(test)
  const wrong: string[] = []
  for (const text of HOSTILE) {
    const encoded = encodeURIComponent(text.replace('\ud800', ''))
    const headers = {
      'if-none-match': text,
      'if-match': text,
      accept: text,
      'accept-encoding': text,
      'x-transaction-id': text,
      'last-event-id': text,
      cookie: text,
      'x-backup-passphrase': text,
      host: text,
      origin: text,
    }
    const answers = [
      await anonymous('GET', `/docs/${encoded}`),
      await anonymous('GET', `/saml/login?RelayState=${encoded}`),
      await anonymous('GET', `/oidc/callback?code=${encoded}&state=${encoded}`),
      await call('GET', `/jobs/${encoded}`, { headers }),
      await call('GET', '/services', { headers }),
      await call('PUT', `/ipvsDirector/rips/${encoded}/drain`, { headers }),
      await call('DELETE', `/backup/${encoded}`, { headers }),
      await call('POST', `/nowhere/${encoded}`, { headers }),
      await call('PATCH', '/services', { headers }),
    ]
    for (const { status, headers: received } of answers) {
      if (status >= 500 || isTorn(Object.values(received).join(''))) wrong.push(`${JSON.stringify(text)}: ${status}`)
    }
  }
  test.same(wrong, [])
})

t.test('injection: no shell anywhere: no source of the daemon starts a program through one', (test) => {
  const sources = globSync('{src,workers,storage}/**/*.{ts,mjs}', { cwd: join(import.meta.dirname, '../..') })
  test.ok(sources.length > 200)
  for (const file of sources) {
    const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
    test.notMatch(
      text,
      /\bshell\s*:\s*(true|['"`])|\bexecSync\(|(?<![.\w])exec\(|['"](ba)?sh['"]\s*,\s*['"]-c|child_process['"]\)?\.exec\b|\beval\(|new Function\(/,
      file,
    )
    const imported =
      /import \{([^}]*)\} from 'node:child_process'/
        .exec(text)?.[1]
        ?.split(',')
        .map((name) => name.trim()) ?? []
    test.same(
      imported.filter((name) => /^exec(Sync)?$/.test(name)),
      [],
      file,
    )
  }
  test.end()
})
