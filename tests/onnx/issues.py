def cases(options):
    return []
