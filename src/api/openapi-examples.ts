import { readFileSync } from 'node:fs'
import type { Endpoint } from './endpoint.ts'
import type { Json } from './openapi-responses.ts'

/** What tests sent and were answered: test/contract/examples.test.ts writes the file and holds it against them. */
export interface Example {
  readonly request?: unknown
  readonly answer?: unknown
}

/** Examples by the name of the endpoint. Read anew each time, because the document is rendered only once. */
export const readExamples = (): Readonly<Record<string, Example>> =>
  JSON.parse(readFileSync(new URL('examples.json', import.meta.url), 'utf8'))

/** The operation with an example beside the schema of its body and of its answer. */
export function withExample(operation: Json, { status }: Endpoint, example: Example | undefined): Json {
  if (example === undefined) return operation
  const { request, answer } = example
  const responses = operation['responses'] as Json
  const body = operation['requestBody'] as Json | undefined
  return {
    ...operation,
    ...(body === undefined || request === undefined ? {} : { requestBody: beside(body, request) }),
    responses: answer === undefined ? responses : { ...responses, [status]: beside(responses[status] as Json, answer) },
  }
}

function beside(holder: Json, example: unknown): Json {
  const content = holder['content'] as Json
  const json = content['application/json'] as Json
  return { ...holder, content: { ...content, 'application/json': { ...json, example } } }
}
