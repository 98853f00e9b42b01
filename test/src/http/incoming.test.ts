import t from 'tap'
import { keepHeaders } from '../../../src/http/incoming.ts'

t.test('headers needed later are kept; a body is read once', async (test) => {
  const headers: Record<string, string> = { 'if-match': '"3"', cookie: 'x' }
  const incoming = {
    method: 'PUT',
    path: '/x',
    query: 'a=1',
    address: '192.0.2.1',
    header: (name: string) => headers[name] ?? '',
    isAmbiguous: false,
    readBody: async () => new Uint8Array(),
  }
  const kept = keepHeaders(incoming)
  delete headers['if-match']
  test.equal(kept.header('if-match'), '"3"')
  test.equal(kept.header('accept'), '')
  test.equal(kept.header('cookie'), '', 'no others')
  await test.rejects(kept.readBody(1))
})
