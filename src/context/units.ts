export interface UnitEntry {
  readonly name: string
  readonly fullName: string
  readonly canReload: boolean
  readonly canUpdate: boolean
}

export interface UnitsReader {
  list(): readonly UnitEntry[]
}

export interface UnitsActor extends UnitsReader {
  /** Operates one managed program; refuses with NOT_FOUND, NOT_SUPPORTED or CONFIG_INVALID. */
  operate(service: string, verb: 'reload' | 'restart' | 'update', by: string): Promise<{ readonly isDryRun: boolean }>
}
