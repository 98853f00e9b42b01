import t from 'tap'
import { readNameServers } from '../../../src/machine/name-servers.ts'

t.test('a machine has name servers, whatever its file contains', async (test) => {
  for (const one of await readNameServers()) test.match(one, /^[0-9a-f.:[\]]+:53$/)
  test.ok((await readNameServers()).length > 0)
})
