/** What ends a command: one line for whoever sees the terminal, and the exit code for whatever started it. */
export class Failure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'Failure'
    this.exitCode = exitCode
  }
}
