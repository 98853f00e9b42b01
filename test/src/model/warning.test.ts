import t from 'tap'
import { Warning, WARNING_CODES } from '../../../src/model/warning.ts'

t.test('each code is explained', async (test) => {
  const description = String(Reflect.get(Warning.properties.code, 'description'))
  for (const code of WARNING_CODES) test.match(description, code)
})
