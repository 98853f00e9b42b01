import t from 'tap'
import { isNodeUpdate, isNodeUpdateTold } from '../../../../src/machine/updates/node-update.ts'

t.test('requests and answers of nodes of other versions are handled', async (t) => {
  t.ok(isNodeUpdate({ jobId: 'a', name: 'fulcrum', by: 'ann' }))
  t.ok(isNodeUpdate({ jobId: 'a', name: 'fulcrum', by: 'ann', more: 1 }))
  for (const asked of [undefined, null, 'text', {}, { jobId: 'a', name: 'fulcrum' }, { jobId: 1, name: 'x', by: 'y' }])
    t.notOk(isNodeUpdate(asked))
  t.ok(isNodeUpdateTold({ version: '1', sequence: 3, step: '', isOwn: true, more: 1 }))
  for (const told of [undefined, [], { version: '1' }, { sequence: 3 }, { version: 1, sequence: 3 }])
    t.notOk(isNodeUpdateTold(told))
})
