import { isUtf8 } from 'node:buffer'

/** An error that ends the command: one line for the user, and the exit code for the calling program. */
export class Failure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}

const WHY_UNREAD: Readonly<Record<string, string>> = { EACCES: 'permission denied', EISDIR: 'it is a folder' }

/** Returns the failure for a file or folder that the system refused to open. */
export function unread(path: string, error: unknown): Failure {
  const { code = '', message = '' } = Object(error) as { readonly code?: string; readonly message?: string }
  return new Failure(
    code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${WHY_UNREAD[code] ?? message}`,
  )
}

/**
 * `isAnyText`: bytes that are not UTF-8 become \ufffd, because they hardly matter, or because the daemon reports their
 * places.
 */
export interface Encoding {
  readonly isAnyText: boolean
}

/** Returns the bytes of a file as text; refuses bytes that would silently become others. */
export function textIn(bytes: Buffer, name: string, { isAnyText }: Encoding = { isAnyText: false }): string {
  if (!isAnyText && !isUtf8(bytes)) throw new Failure(`${name} is not UTF-8 text`)
  return bytes.toString()
}

/** For commands whose exit codes report a state: 3 means unknown, as in Nagios. */
export async function tellingOf<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof Failure ? new Failure(error.message, 3) : error
  }
}
