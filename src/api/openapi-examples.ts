import { readFileSync } from 'node:fs'
import type { Endpoint } from './endpoint.ts'
import type { Json } from './openapi-responses.ts'

/** A request and its answer from the tests: test/contract/examples.test.ts writes the file and compares it. */
export interface Example {
  readonly request?: unknown
  readonly answer?: unknown
}

/** Returns the examples by the name of the endpoint. Not cached, because the document is rendered only once. */
export const readExamples = (): Readonly<Record<string, Example>> =>
  JSON.parse(readFileSync(new URL('examples.json', import.meta.url), 'utf8'))

/** Returns the operation with an example beside the schemas of its body and answer. */
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
