import { prefers } from '../api/accept.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { type Answer, headOf } from './envelope.ts'
import type { Handler } from './server.ts'

/**
 * A person whom an identity provider has sent here, or who is on the way there, reads no JSON: a browser that is
 * refused is sent to the admin page, which explains it in the user's language. Only the code of the refusal and the
 * name of the endpoint go with it, which are words of this program and not of the request.
 */
export function sendingRefusedOn(handle: Handler, prefix: string, endpoints: readonly Endpoint[]): Handler {
  const names = new Map(
    endpoints.filter(({ refusedAtPage }) => refusedAtPage).map(({ path, name }) => [`${prefix}${path}`, name]),
  )
  return (incoming, requestId) => {
    const name = names.get(incoming.path)
    if (name === undefined || !prefers('text/html', incoming.header('accept'))) return handle(incoming, requestId)
    const answer = handle(incoming, requestId)
    return answer instanceof Promise ? answer.then((come) => sentOn(come, name)) : sentOn(answer, name)
  }
}

const contentType = 'text/html; charset=utf-8'

function sentOn(answer: Answer, name: string): Answer {
  const { code } = answer
  if (code === undefined) return answer
  const headers = {
    // What stands behind # is told to no server.
    Location: `/#refused=${code}&by=${name}`,
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept',
  }
  return { status: 303, contentType, body: 'See Location', headers, head: headOf({ contentType, headers }) }
}
