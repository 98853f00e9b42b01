import t from 'tap'
import { commentText, endpointText, quote, textOf } from '../../../../src/drivers/haproxy/statement.ts'

t.test('words reach HAProxy literally', (t) => {
  t.equal(quote('/health'), '/health')
  t.equal(quote('/a b'), "'/a b'")
  t.equal(quote('$HOME"#\\'), `'$HOME"#\\'`)
  t.equal(quote("it's"), String.raw`'it'\''s'`)
  t.equal(quote(''), "''")
  t.end()
})

t.test('a name cannot leave its comment', (t) => {
  t.equal(commentText('a\nserver b 127.0.0.1\r\u0000\u2028c\u0085d'), 'a server b 127.0.0.1   c d')
  t.end()
})

t.test('addresses carry their port', (t) => {
  t.equal(endpointText('192.0.2.1', 80), '192.0.2.1:80')
  t.equal(endpointText('2001:db8::1', 80), '[2001:db8::1]:80')
  t.equal(endpointText('192.0.2.1', null), '192.0.2.1')
  t.end()
})

t.test('statements are one per line', (t) => {
  t.equal(textOf([{ text: 'global', owner: undefined, kind: 'statement' }]), 'global\n')
  t.end()
})
