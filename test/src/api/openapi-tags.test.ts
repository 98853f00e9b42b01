import t from 'tap'
import { describedTags } from '../../../src/api/openapi-tags.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { documentOf } from '../../fixtures/openapi-document.ts'

t.test('tags are in groups, in the order of the table; an undescribed one is in the last', async (test) => {
  const { tags, 'x-tagGroups': groups } = describedTags(['auth', 'novel', 'realServers', 'groups'])
  test.match(tags, [
    { name: 'auth', description: String },
    { name: 'novel' },
    { description: String },
    { name: 'groups' },
  ])
  test.same(groups, [
    { name: 'Logging in', tags: ['auth'] },
    { name: 'Users and rights', tags: ['groups'] },
    { name: 'Balancing', tags: ['realServers'] },
    { name: 'Everything else', tags: ['novel'] },
  ])
})

t.test('every tag of the document is in one group', async (test) => {
  const { json } = documentOf(endpoints)
  const grouped = json['x-tagGroups'].flatMap(({ tags }: { readonly tags: readonly string[] }) => tags)
  test.same(grouped.toSorted(), json.tags.map(({ name }: { readonly name: string }) => name).toSorted())
})
