import t from 'tap'
import { applicantOf, parsedToken, refusedInWords, wrongAddress } from '../../../src/membership/joining-refusals.ts'
import { JoinError } from '../../../src/peers/joining/join-error.ts'
import { refuses } from '../../fixtures/config.ts'

const application = {
  version: '1.0.0',
  now_ms: 0,
  name: 'right',
  address: '192.0.2.2:9444',
  peerRequest: 'p',
  clientRequest: 'c',
  records: { tokenKey: 'k' },
}

t.test('what a node says of itself has its address, and the key of its tokens', async (t) => {
  t.match(applicantOf(application, 'n'), { id: 'n', host: '192.0.2.2', port: 9444, tokenKey: 'k' })
  await refuses(t, 'INVALID_BODY', () => applicantOf({ ...application, address: 'x' }, 'n'))
  await refuses(t, 'INVALID_BODY', () => applicantOf({ ...application, records: {} }, 'n'))
})

t.test('refusals name the field', async (t) => {
  t.match((await refuses(t, 'INVALID_BODY', () => parsedToken('fj1.x'))).details.errors, [
    { field: 'token', code: 'TOKEN_SHAPE' },
  ])
  t.match(wrongAddress().details.errors, [{ field: 'address' }])
  const failing = (code: 'TOKEN_USED' | 'LOST') => refusedInWords(Promise.reject(new JoinError(code, 'why')))
  t.match((await refuses(t, 'INVALID_BODY', failing('TOKEN_USED'))).details.errors, [{ code: 'TOKEN_USED' }])
  await refuses(t, 'NODE_UNREACHABLE', failing('LOST'))
  await t.rejects(refusedInWords(Promise.reject(new TypeError('a defect'))), TypeError)
  t.equal(await refusedInWords(Promise.resolve(1)), 1)
})
