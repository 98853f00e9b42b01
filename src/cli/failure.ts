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

/** For commands whose exit codes report a state: 3 means unknown, as in Nagios. */
export async function tellingOf<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof Failure ? new Failure(error.message, 3) : error
  }
}
