import t from 'tap'
import { prefers, weightsOf } from '../../../src/api/accept.ts'

t.test('names and weights; unreadable parts are ignored', async (t) => {
  t.strictSame([...weightsOf('')], [])
  t.strictSame(
    [...weightsOf('Text/CSV, application/json;q=0.5 ; charset=x, a;q=2, b; Q = 0.123, , c;q=1.000')],
    [
      ['text/csv', 1],
      ['application/json', 0.5],
      ['a', 0],
      ['b', 0.123],
      ['c', 1],
    ],
  )
})

t.test('rows for clients that prefer rows', async (t) => {
  const rows = ['text/csv', 'TEXT/CSV; charset=utf-8', 'text/csv, */*;q=0.1', 'application/json, text/csv', 'text/*']
  t.strictSame(
    rows.filter((accept) => !prefers('text/csv', accept)),
    [],
  )
  const json = ['', '*/*', 'application/json', 'text/csv;q=0', 'application/json, text/csv;q=0.1', 'text/html']
  t.strictSame(
    json.filter((accept) => prefers('text/csv', accept)),
    [],
  )
})

t.test('a page for browsers', async (t) => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
  t.ok(prefers('text/html', browser))
  for (const accept of ['', '*/*', 'application/json', 'application/json, text/html;q=0.9'])
    t.notOk(prefers('text/html', accept), accept)
})
