/**
 * The tasks of the intake pool: uploaded files are checked by programs for as long as the uploader makes them run. No
 * plan waits for these.
 */
import { runProgram } from './host/linux-host.ts'
import { keepPackage as keep, type Upload, type UploadedPackage } from './uploaded-package.ts'

export function keepPackage(upload: Upload): Promise<UploadedPackage | { readonly problem: string }> {
  return keep(upload, runProgram)
}
