import t from 'tap'
import { listen, requestIds } from '../../../src/http/server.ts'
import { assertServes } from '../../fixtures/serving.ts'

assertServes(t, async (test, handle) => {
  const listener = await listen({ host: '127.0.0.1', port: 0 }, undefined, handle, requestIds('test'))
  test.teardown(() => listener.close())
  return listener
})
