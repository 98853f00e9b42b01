import t from 'tap'
import { assertRecord } from '../../../src/config/record-schema.ts'
import { realServer } from '../../fixtures/config.ts'

t.test('a record that breaks its schema is a defect, reported with the field', async (test) => {
  test.doesNotThrow(() => assertRecord('realServers', realServer('a')))
  test.throws(() => assertRecord('realServers', { ...realServer('a'), port: 0 }), /real server .* \/port/)
})
