import t from 'tap'
import { answerLines, payloadOf } from '../../../../src/drivers/haproxy/answers.ts'

const texts = (...asked: Parameters<typeof answerLines>) => answerLines(...asked).map(([text]) => text)

t.test('a page is one word, and a missing one is left out', (test) => {
  test.equal(payloadOf('text/html', ''), '')
  test.equal(payloadOf('text/html', `it's\n$HOME`), String.raw` content-type 'text/html' string 'it'\''s'\x0a'$HOME'`)
  test.end()
})

t.test('maintenance comes before everything, in tcp mode as early as possible', (test) => {
  const maintenance = { enabled: true } as const
  test.match(texts({ mode: 'http', maintenance }, 'frontend'), [/^http-request return status 503 .* no-store$/])
  test.same(texts({ mode: 'tcp', maintenance }, 'frontend'), ['tcp-request connection reject'])
  test.same(texts({ mode: 'tcp', maintenance }, 'backend'), ['tcp-request content reject'])
  test.same(texts({ mode: 'http', maintenance: { enabled: false, page: 'kept' } }, 'frontend'), [])
  test.end()
})

t.test('each page is traced to its place', (test) => {
  const errorPages = [{ status: 400, page: '' } as const, { status: 503, page: 'x' } as const]
  test.same(answerLines({ mode: 'http', errorPages }, 'backend'), [
    ['http-error status 400 hdr Cache-Control no-cache', 'errorPages.0'],
    [
      `http-error status 503 content-type 'text/html; charset=utf-8' string 'x' hdr Cache-Control no-cache`,
      'errorPages.1',
    ],
  ])
  test.end()
})
