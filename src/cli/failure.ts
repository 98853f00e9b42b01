/** What ends a command: one line for the person at the terminal, and the exit code for the program that started it. */
export class Failure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}

/** For a command whose codes say how something is: 3 is that nobody tells, as Nagios has it. */
export async function tellingOf<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof Failure ? new Failure(error.message, 3) : error
  }
}
