type Place = { readonly scheme: 'https' | 'http'; readonly host: string; readonly path: string }

/** Leaves out what is reached by http where https leads to the same host and path, whatever the port. */
export const withoutOutshone = <T>(items: readonly T[], placeOf: (item: T) => Place | undefined): readonly T[] => {
  const secure = new Set(
    items.flatMap((item) => {
      const place = placeOf(item)
      return place?.scheme === 'https' ? [`${place.host} ${place.path}`] : []
    }),
  )
  return items.filter((item) => {
    const place = placeOf(item)
    return place?.scheme !== 'http' || !secure.has(`${place.host} ${place.path}`)
  })
}
