import { readFileSync } from 'node:fs'
import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { packed } from '../../system/apt-repository.ts'

const borrow = sharedAppliance(t)

t.test('a package larger than the limit of other bodies is accepted, and returned by name', async (test) => {
  const { call, node } = await borrow()
  const folder = temporaryFolder(test, 'package')
  // Incompressible: the file is as large as its content.
  const noise = Array.from({ length: 60_000 }, () => Math.random().toString(36)).join('')
  const file = await packed(folder, { name: 'large', version: '1', conffiles: { '/etc/large': noise } })
  const packages = readFileSync(file).toString('base64')
  const { status, json } = await call('POST', `/${node}/system/update`, { body: { packages } })
  test.equal(status, 200)
  test.same(json.data, { packages: { name: 'large', version: '1', arch: 'all' } })
})

t.test('unknown fields and no package at all are refused', async (test) => {
  const { call, node } = await borrow()
  const answer = await call('POST', `/${node}/system/update`, { body: { packages: '', other: 1 } })
  test.equal(answer.status, 422)
  test.same(answer.json.errors.map(({ field }: { field: string }) => field).toSorted(), ['other', 'packages'])
  test.equal((await call('PUT', `/${node}/system/update/majorversion`, { body: {} })).status, 422)
})
