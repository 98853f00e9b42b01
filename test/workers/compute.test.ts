import t from 'tap'
import { computePool } from '../../src/threads/worker-pool.ts'

t.test('a large body is parsed in a separate thread', async (test) => {
  const pool = computePool()
  test.teardown(() => pool.close())
  const text = JSON.stringify({ backup: 'x'.repeat(2_000_000) })
  test.same(await pool.run('parseJson', Buffer.from(text)), { value: JSON.parse(text) })
  test.equal(await pool.run('parseJson', Buffer.from('{')), undefined)
})
