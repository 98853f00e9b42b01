import t from 'tap'
import { Failure, tellingOf, textIn, unread } from '../../../src/cli/failure.ts'

t.test('a file that cannot be read has its reason', (test) => {
  const refused = (code: string) => unread('lb.yaml', Object.assign(new Error(`${code}: oh`), { code })).message
  test.equal(refused('ENOENT'), 'there is no file lb.yaml')
  test.equal(refused('EACCES'), 'lb.yaml cannot be read: permission denied')
  test.equal(refused('EISDIR'), 'lb.yaml cannot be read: it is a folder')
  test.equal(refused('EIO'), 'lb.yaml cannot be read: EIO: oh')
  test.end()
})

t.test('bytes that are no text are refused, unless any text will do', (test) => {
  const bytes = Buffer.from('caf\u00e9', 'latin1')
  test.throws(() => textIn(bytes, 'lb.yaml'), { name: 'Failure', message: 'lb.yaml is not UTF-8 text' })
  test.equal(textIn(bytes, 'lb.yaml', { isAnyText: true }), 'caf\ufffd')
  test.equal(textIn(Buffer.from('caf\u00e9'), 'lb.yaml'), 'caf\u00e9')
  test.end()
})

t.test('a failure of a check is the state unknown', async (test) => {
  const failing = (error: Error) => tellingOf(() => Promise.reject(error))
  await test.rejects(failing(new Failure('no answer')), { message: 'no answer', exitCode: 3 })
  const broken = new TypeError('broken')
  await test.rejects(failing(broken), broken)
  test.equal(await tellingOf(async () => 7), 7)
})
