import t from 'tap'
import { l4History } from '../../../../src/resources/statistics/l4-history.ts'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('every history is an extension, beside the figures and under the node', (t) => {
  t.ok(l4History.every(({ extension, effect }) => extension && effect === 'read'))
  const [own, under] = [l4History.slice(0, 7), l4History.slice(7)]
  t.strictSame(
    under.map(({ path }) => path),
    own.map(({ path }) => `/{applianceId}${path}`),
  )
  t.end()
})

t.test('an object has a history from its apply on, the same at both paths; nothing recorded is null', async (t) => {
  const { call, node } = await borrow()
  const ripId = (await call('POST', '/ipvsDirector/rips', { body: { name: 'r', ip: '192.0.2.1', port: 80 } })).json.data
    .id
  const backendId = (await call('POST', '/ipvsDirector/backends', { body: { name: 'b', reals: [{ ripId }] } })).json
    .data.id
  const frontend = { name: 'f', ip: '192.0.2.50', ports: '80', protocol: 'tcp', forwarding: 'gate', backendId }
  const id = (await call('POST', '/ipvsDirector/frontends', { body: frontend })).json.data.id
  const window = 'history?start=1790000000&end=1790000004'
  const path = `/ipvsDirector/stats/frontends/${id}/${window}`
  t.match((await call('GET', path)).json, { code: 'NOT_FOUND' }, 'only staged')
  await call('PUT', '/services/apply')
  const answer = await call('GET', path)
  t.equal(answer.json.message, 'Layer 4 history')
  t.match(answer.json.data, { id, name: 'f', applianceId: node, consolidation: 'average' })
  t.strictSame(Object.keys(answer.json.data.series), ['currentSessions', 'sessionRate', 'bytesIn', 'bytesOut'])
  t.ok(
    Object.values(answer.json.data.series)
      .flat()
      .every((point) => point === null),
  )
  t.strictSame((await call('GET', `/${node}${path}`)).json, answer.json)
  const reals = await call('GET', `/ipvsDirector/stats/rips/backend/${backendId}/${window}`)
  t.match(reals.json.data, { id: backendId, name: 'b', reals: [{ id: ripId, name: 'r' }] })
  const rip = await call('GET', `/${node}/ipvsDirector/stats/rips/${ripId}/${window}`)
  t.match(rip.json.data, [{ backendId, backendName: 'b', id: ripId }])
  const csv = await call('GET', path, { headers: { accept: 'text/csv' } })
  t.match(csv.headers['content-type'], /^text\/csv/)
  t.match((await call('GET', `${path}&metrics=nonesuch`)).json, { code: 'INVALID_QUERY' })
  const uncounted = (await call('GET', `${path}&metrics=bytesIn,requestRate`)).json
  t.match(uncounted, { code: 'INVALID_QUERY', errors: [{ field: 'metrics', code: 'NOT_ALLOWED' }] })
  t.match(
    uncounted.message,
    /"requestRate", which is not recorded for Layer 4 frontends: available are currentSessions/,
  )
  const several = await call('GET', `/ipvsDirector/stats/rips/${window}&ids=${ripId}&metrics=bytesIn`)
  t.match(several.json.data, { reals: [{ backendId, id: ripId, series: { bytesIn: [null] } }] })
})
