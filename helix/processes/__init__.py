"""The executor `processes`: reading, code rows and packets over cores, judges asked by one process.

Workers are other interpreters, spoken to over pipes in plain data; nothing is pickled. Each gets
places of records and reads them itself (DESIGN “Scale”).
"""
