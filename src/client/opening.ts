import type { Answer } from './answer.ts'
import { Refused, refusedWith } from './refused.ts'

export interface Credentials {
  readonly email: string
  readonly password: string
  /** Code of the second factor; a function is called if the account has one. */
  readonly code?: string | (() => string | Promise<string>)
}

export interface Opened {
  readonly token: string
}

/** Opens a session; `post` sends a body to `POST /token`. */
export async function opened(
  post: (body: object) => Promise<Answer>,
  { email, password, code }: Credentials,
): Promise<Opened> {
  const first = typeof code === 'string' ? code : undefined
  let answer = await post({ email, password, ...(first === undefined ? {} : { code: first }) })
  if (answer.status === 401 && typeof code === 'function') {
    const refused = await refusedWith(answer)
    if (!(refused instanceof Refused) || refused.code !== 'TWO_FACTOR_REQUIRED') throw refused
    answer = await post({ email, password, code: await code() })
  }
  if (!answer.ok) throw await refusedWith(answer)
  const { data } = (await answer.json()) as { readonly data: Opened }
  return data
}
