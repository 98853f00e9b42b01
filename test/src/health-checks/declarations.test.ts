import t from 'tap'
import { declarationProblems, headersOf } from '../../../src/health-checks/declarations.ts'

t.test('headers of the first 64 lines are read', async (test) => {
  const first = '{"name":"timeout","type":"integer","default":"5","label":"Timeout (s)"}'
  const second = '{"name":"host","type":"hostname","required":true}'
  const script = ['#!/bin/sh', `# @param ${first}`, `#@param ${second}\r`, 'exit 0'].join('\n')
  test.strictSame(headersOf(script), { parameters: [JSON.parse(first), JSON.parse(second)], problems: [] })
  const far = `${'#\n'.repeat(64)}# @param ${first}`
  test.strictSame(headersOf(far), { parameters: [], problems: [] })
  test.strictSame(headersOf('#!/bin/sh\n# @parameter x\necho "# @param {}"').parameters, [])
})

t.test('unreadable headers are named by their line', async (test) => {
  for (const text of ['{', '[]', '{"name":"a","type":"number"}', '{"name":"a","type":"string","x":1}']) {
    const { parameters, problems } = headersOf(`#!/bin/sh\n# @param ${text}`)
    test.strictSame(parameters, [])
    test.match(problems, [{ field: 'script', code: 'INVALID_BODY', message: /line 2/ }], text)
  }
  test.match(headersOf('# @param {"name":"a-b","type":"string"}').problems, [{ code: 'INVALID_NAME', field: 'script' }])
})

t.test('PARAMETER_CONFLICT: required and a default', async (test) => {
  const declared = [{ name: 'a', type: 'string', required: true, default: '' }] as const
  test.match(declarationProblems(declared, 'parameters'), [
    { field: 'parameters.0.default', code: 'PARAMETER_CONFLICT' },
  ])
  test.match(headersOf(`# @param ${JSON.stringify(declared[0])}`).problems, [
    { field: 'script', code: 'PARAMETER_CONFLICT' },
  ])
})

t.test('INVALID_NAME: a name that occurs twice', async (test) => {
  const twice = [
    { name: 'a', type: 'string' },
    { name: 'a', type: 'port' },
  ] as const
  test.match(declarationProblems(twice, 'parameters'), [{ field: 'parameters.1.name', code: 'INVALID_NAME' }])
})

t.test('a default has the type of its parameter', async (test) => {
  const declared = [{ name: 'a', type: 'port', default: '0' }] as const
  test.match(declarationProblems(declared, 'parameters'), [{ field: 'parameters.0.default', code: 'INVALID_BODY' }])
})

t.test('a script has no more parameters than a body may declare', async (test) => {
  const lines = Array.from({ length: 33 }, (_, index) => `# @param {"name":"p${index}","type":"string"}`)
  test.match(headersOf(lines.join('\n')).problems, [{ field: 'script', code: 'INVALID_BODY' }])
  test.strictSame(headersOf(lines.slice(1).join('\n')).problems, [])
})

t.test('a long line takes time proportional to its length', async (test) => {
  const line = `# @param ${' \t'.repeat(120_000)}x`
  test.match(headersOf(line).problems, [{ field: 'script' }])
})
