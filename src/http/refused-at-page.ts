import { prefers } from '../api/accept.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { type Answer, headOf } from './envelope.ts'
import type { Handler } from './server.ts'

/**
 * A user on the way to or from an identity provider does not read JSON: a refused browser is redirected to the admin
 * page, which explains the refusal in the user's language. Only the code of the refusal and the name of the endpoint
 * are passed on, which are words of this program and not of the request.
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
    // Browsers send no server what follows `#`.
    Location: `/#refused=${code}&by=${name}`,
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept',
  }
  return { status: 303, contentType, body: 'See Location', headers, head: headOf({ contentType, headers }) }
}
