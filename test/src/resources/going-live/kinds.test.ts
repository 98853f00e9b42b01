import t from 'tap'
import { SECTIONS } from '../../../../src/model/sections.ts'
import { changing, differing, documented, kindsOf, tidied } from '../../../../src/resources/going-live/kinds.ts'
import { endpoints } from '../../../../src/resources/index.ts'

const kinds = kindsOf(endpoints)
const kind = (section: string) => {
  const found = kinds.records.find((one) => one.section === section)
  if (found === undefined) throw new Error(section)
  return found
}

t.test('each kind refers only to earlier ones', (test) => {
  const place = (section: string) => kinds.records.findIndex((one) => one.section === section)
  const backend = { reals: [{ ripId: 'a' }], healthCheck: { type: 'script', id: 'b' } }
  const frontend = { defaultBackendId: 'a', cipherListId: 'b', certificates: ['c'], backendId: 'd', groupId: 'e' }
  for (const { section } of kinds.records) {
    const refers = SECTIONS[section].references as (record: object) => readonly { readonly section: string }[]
    for (const reference of refers({ ...backend, ...frontend })) {
      if (reference.section === 'syslogServers') continue
      test.ok(place(reference.section) < place(section), `${section} refers to ${reference.section}`)
    }
  }
  test.end()
})

t.test('implied values are left out', (test) => {
  const reals = kind('realServers')
  test.same(tidied(reals, { ip: 'a', port: null, weight: 100 }), { ip: 'a' })
  test.same(tidied(reals, { ip: 'a', state: 'online' }), { ip: 'a', state: 'online' }, 'it may be wanted')
  const stored = { id: 'x', name: 'y', ip: 'a', port: 80, weight: 100, state: 'online', owner: '' }
  test.same(documented(reals, stored, String), { ip: 'a', port: 80 })
  const script = '#!/bin/sh\n# @param {"name":"a","type":"string"}\n'
  const parameters = [{ name: 'a', type: 'string' }]
  test.same(tidied(kind('healthChecks'), { script, parameters }), { script })
  test.same(tidied(kind('healthChecks'), { script, parameters: [] }), { script, parameters: [] })
  test.end()
})

t.test('a change sends differences, defaults of omitted fields, and fields that the API requires', (test) => {
  const reals = kind('realServers')
  const [is, wanted] = [
    { ip: 'a', port: 80, weight: 5, state: 'drained' },
    { ip: 'b', port: 80 },
  ]
  test.same(differing(reals, is, wanted), ['ip', 'weight'])
  test.same(changing(reals, differing(reals, is, wanted), wanted), { port: 80, ip: 'b', weight: 100 })
  test.same(differing(reals, { ip: 'a' }, { ip: 'a', state: 'online' }), [])
  test.same(differing(reals, { ip: 'a' }, { ip: 'a', state: 'halted' }), ['state'])
  test.end()
})
