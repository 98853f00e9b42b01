import t from 'tap'
import { samlOutline } from '../../../workers/compute/saml-outline.ts'

const RESPONSE = `<?xml version="1.0"?>
<p:Response xmlns:p="urn:p" Destination='https://a/?b=c&amp;d' ><!-- <x> --><p:Status>
<p:StatusCode Value = "Success"><p:StatusCode Value="More"/></p:StatusCode></p:Status><Text><![CDATA[</x>]]>></Text></p:Response >
`

t.test('the parts of an answer around its assertion', async (test) => {
  const outline = { destination: 'https://a/?b=c&d', statusCodes: ['Success'], algorithms: [] }
  test.same(samlOutline(RESPONSE), outline)
  test.same(samlOutline(`\uFEFF${RESPONSE}`), outline)
  test.same(samlOutline('<Response/>'), { destination: undefined, statusCodes: [], algorithms: [] })
  const inside = '<Response><Assertion><Status><StatusCode Value="Success"/></Status></Assertion></Response>'
  test.same(
    samlOutline(inside),
    { destination: undefined, statusCodes: [], algorithms: [] },
    'elsewhere it does not count',
  )
})

t.test('the algorithms of signatures, with any prefix and at any place', async (test) => {
  const methods = '<d:SignatureMethod Algorithm="a"/><x><DigestMethod Algorithm="b"></DigestMethod></x><DigestMethod/>'
  test.match(samlOutline(`<r>${methods}<SignatureMethods Algorithm="c"/></r>`), { algorithms: ['a', 'b', ''] })
})

t.test('parts that no answer needs are refused before a library parses them', async (test) => {
  const many = (count: number, text: (n: number) => string) => Array.from({ length: count }, (_, n) => text(n)).join('')
  const cases = {
    'document type': ['<!DOCTYPE x><x/>', '<!doctype x><x/>', '<x><!ENTITY a "b"></x>'],
    'processing instruction': ['<x><?y?></x>', '<?y?><x/>', ' <?xml version="1.0"?><x/>'],
    'too many parts': [
      `<x>${'<y/>'.repeat(2200)}</x>`,
      `<x>${'<!---->'.repeat(2200)}</x>`,
      `<x>${'>'.repeat(5000)}</x>`,
      `<x ${many(21, (n) => `a${n}="" `)}/>`,
      `<x>${`<y ${many(20, (n) => `a${n}="" `)}/>`.repeat(181)}</x>`,
    ],
    'too deep': ['<x>'.repeat(13)],
    'cannot be read': [
      '<x y=">/>',
      '<x y="<"/>',
      '<x y=z/>',
      '<x y/>',
      '<x y="1"z="2"/>',
      '< x/>',
      '</x>',
      '<x></x></x>',
      '<x><!-- </x>',
      '<x',
      '<',
    ],
    'has no end': ['<x>', '<x><y></y>'],
  }
  for (const [reason, texts] of Object.entries(cases)) {
    for (const text of texts) test.match(samlOutline(text), { problem: new RegExp(reason) }, text.slice(0, 60))
  }
})

t.test('its time only grows with the length, whatever the content', async (test) => {
  for (const text of [
    '<a '.repeat(60_000),
    `<a ${'b '.repeat(90_000)}>`,
    `<a b=${'"'.repeat(180_000)}>`,
    `<a${' '.repeat(180_000)}`,
  ]) {
    test.match(samlOutline(text), { problem: /./ }, text.slice(0, 20))
  }
  test.notMatch(samlOutline(`<x>${'>'.repeat(2000)}</x>`), { problem: /./ })
})
