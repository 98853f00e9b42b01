import t from 'tap'
import {
  applicantOf,
  previewOf,
  replaced,
  parsedToken,
  readAddress,
  refusedInWords,
} from '../../../src/membership/joining-refusals.ts'
import { JoinError, type JoinErrorCode } from '../../../src/peers/joining/join-error.ts'
import { nodeRecords } from '../../../src/config/node-records.ts'
import { refuses } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const application = {
  version: '1.0.0',
  now_ms: 0,
  name: 'right',
  address: '192.0.2.2:9444',
  peerRequest: 'p',
  clientRequest: 'c',
  records: { tokenKey: 'k', own: nodeRecords(viewOf({}), 'n') },
}

t.test('a node reports its address, and the key of its tokens', async (t) => {
  t.match(applicantOf(application, 'n').own, { staticIps: [] })
  t.match(applicantOf(application, 'n'), { id: 'n', host: '192.0.2.2', port: 9444, tokenKey: 'k' })
  await refuses(t, 'INVALID_BODY', () => applicantOf({ ...application, address: 'x' }, 'n'))
  for (const records of [{}, { tokenKey: 'k' }]) {
    await refuses(t, 'INVALID_BODY', () => applicantOf({ ...application, records }, 'n'))
  }
  t.equal(applicantOf({ ...application, records: { tokenKey: 'k', isReplacing: true } }, 'n').own, undefined)
})

t.test('refusals name the field', async (t) => {
  t.match((await refuses(t, 'INVALID_BODY', () => parsedToken('fj1.x'))).details.errors, [
    { field: 'token', code: 'TOKEN_SHAPE' },
  ])
  t.match((await refuses(t, 'INVALID_BODY', () => readAddress('x:y', 1))).details.errors, [{ field: 'address' }])
  t.same(readAddress('192.0.2.1', 9444), { host: '192.0.2.1', port: 9444 })
  const failing = (code: JoinErrorCode) => refusedInWords(Promise.reject(new JoinError(code, 'why')))
  for (const [code, field] of [
    ['TOKEN_USED', 'token'],
    ['OTHER_ROLE', 'token'],
    ['ADDRESS_UNREACHABLE', 'address'],
    ['CLOCK_SKEW', ''],
    ['OTHER_VERSION', ''],
    ['REFUSED', ''],
  ] as const)
    t.same((await refuses(t, 'INVALID_BODY', failing(code))).details.errors, [{ field, code, message: 'why' }])
  await refuses(t, 'NODE_UNREACHABLE', failing('LOST'))
  await t.rejects(refusedInWords(Promise.reject(new TypeError('a defect'))), TypeError)
  t.equal(await refusedInWords(Promise.resolve(1)), 1)
})

t.test('the place of a removed node is taken with its id', async (t) => {
  const gone = { id: 'b', name: 'right', address: '192.0.2.2:9444' }
  t.equal(replaced('b', [gone]), gone)
  const { details } = await refuses(t, 'INVALID_BODY', () => replaced('c', [gone]))
  t.match(details.errors, [{ field: 'as', code: 'NOT_REMOVED', message: /the removed nodes are b \(right\)/ }])
  t.match((await refuses(t, 'INVALID_BODY', () => replaced('c'))).message, /none was/)
})

t.test('a preview lists present and former nodes', (t) => {
  const node = { id: 'a', name: 'left', address: '192.0.2.1:9444' }
  const seen = { clusterId: 'c', name: 'site', version: '1.0.0', now_ms: 1, nodes: [node], reachable: true }
  const told = {
    clusterId: 'c',
    name: 'site',
    version: '1.0.0',
    nodes: [node],
    removed: [],
    brings: [],
    reachable: true,
  }
  t.same(previewOf(seen, undefined), told)
  const why = { reachable: false, why: 'closed' }
  t.same(previewOf({ ...seen, ...why, removed: [node] }, undefined), { ...told, ...why, removed: [node] })
  t.end()
})
